"""Which of the values that compiled code reads no guard looks at: they may change, and the entry runs all the same.

Input: what the code reads, and the guards of an entry and of the rests of the function after graph breaks.  Output:
``UnguardedValue`` records.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import replace

from depyf.run.guards.guard_kind import sources_in
from depyf.run.guards.guard_sources import GuardSources, known_path, read_guard, spelled_plainly
from depyf.run.guards.unguarded_value import FunctionReads, IdentityRead, Read, StateRead, UnguardedValue, WhyUnguarded
from depyf.run.records import FunctionRecord, GuardRecord
from depyf.safety.unheard import parse

NO_GUARD = "torch made no guard for it"
NOT_STORED = "none was stored"
"""Of what was compiled ahead of time, where it is not known which guards were left out."""
_MOST_NAMES = 20
"""Of one value."""
_COPIED = "torch copied it when it compiled: each call draws the same numbers"
_DECIDED = "torch decided it when it compiled, and guards neither object"


def unguarded_values(
    reads: Sequence[Read],
    guards: Sequence[str],
    left_out: Sequence[GuardRecord] = (),
    filtered_by: str = "",
    nothing: str = NO_GUARD,
) -> Iterator[UnguardedValue]:
    """The values among ``reads`` that none of ``guards`` checks.  ``left_out``: the guards that a filter left out;
    ``filtered_by``: the filter, in words; ``nothing``: why there is no guard where neither is known."""
    looked_at, without = _LookedAt(guards), _LookedAt([guard.expression for guard in left_out])
    for read in reads:
        if isinstance(read, IdentityRead):
            if not looked_at.identity(read):
                yield UnguardedValue(read.name, read.place, WhyUnguarded.IDENTITY, _DECIDED)
        elif isinstance(read, StateRead):
            yield UnguardedValue(f"the state of {read.name}", read.place, WhyUnguarded.STATE, _COPIED)
        elif not looked_at.value(read.name):
            kind, why = WhyUnguarded.NONE, nothing
            if read.library:
                kind, why = WhyUnguarded.LIBRARY, f"a constant of the library {read.library}"
            elif by := next((left_out[n].left_out_by for n in without.at(read.name)), filtered_by):
                kind, why = WhyUnguarded.FILTER, f"{by} left its guard out"
            yield UnguardedValue(read.name, read.place, kind, why)


def with_unguarded(
    functions: Sequence[FunctionRecord], reads: Mapping[tuple[int, str], FunctionReads]
) -> tuple[FunctionRecord, ...]:
    """The functions of a run, each entry with the values that no guard looks at; ``reads``: by function.  A value that
    a filter left out is not told again where the guard is: ``left_out`` of the entry has it."""
    begin = {(one.code.filename, one.code.line, one.code.name) for one in functions if one.entries}
    rests: dict[tuple[int, str], list[str]] = {}
    for one in functions:
        if one.resume_of is not None:
            guards = [guard.expression for entry in one.entries for guard in entry.guards]
            rests.setdefault(one.resume_of, []).extend(guards)
    return tuple(
        _with_values(one, reads[one.function], rests.get(one.function, []), begin) if one.function in reads else one
        for one in functions
    )


def _with_values(
    function: FunctionRecord, told: FunctionReads, rests: list[str], begin: Set[tuple[str, int, str]]
) -> FunctionRecord:
    """``begin``: where functions begin that were compiled: what another one of these reads is told there."""
    own = function.code.filename, function.code.line, function.code.name
    reads = [
        read
        for read in told.reads
        if (at := (read.place.filename, read.begins, read.place.function)) == own or at not in begin
    ]
    entries = []
    for entry in function.entries:
        if entry.guards or entry.left_out:
            guards = [*(guard.expression for guard in entry.guards), *rests]
            found = unguarded_values(reads, guards, entry.left_out)
            values = [one for one in found if not (entry.left_out and one.kind is WhyUnguarded.FILTER)]
            entry = replace(entry, unguarded=(*values, *told.never))
        entries.append(entry)
    return replace(function, entries=tuple(entries))


class _LookedAt:
    """What some guards look at.  Only those are taken apart that name what is asked for: there may be thousands."""

    def __init__(self, guards: Sequence[str]) -> None:
        self._guards = guards

    def at(self, name: str) -> list[int]:
        """The guards on a value, or on a part of it."""
        last = _last(name)
        return [n for n, text in enumerate(self._guards) if last in text and any(map(_within(name), _names(text)))]

    def value(self, name: str) -> bool:
        """Whether a guard is on a value, or on a part of it, by this name or by another one of the same object."""
        return any(map(self._named, self._names_of(name)))

    def _named(self, name: str) -> bool:
        last = _last(name)
        return any(last in text and any(map(_within(name), _names(text))) for text in self._guards)

    def _names_of(self, name: str) -> Iterator[str]:
        """``name``, and what it is called by way of an object for which guards know two names."""
        todo, seen = [name], {name}
        while todo:
            name = todo.pop()
            yield name
            for one, other in self._same:
                if _within(one)(name) and (again := other + name[len(one) :]) not in seen and len(seen) < _MOST_NAMES:
                    seen.add(again)
                    todo.append(again)

    @functools.cached_property
    def _same(self) -> list[tuple[str, str]]:
        """Two names of one object, both ways round, by the guards that say so."""
        pairs = [_names_of_one(text) for text in self._guards if " is " in text]
        return [pair for names in pairs if names for pair in (names, names[::-1])]

    def identity(self, read: IdentityRead) -> bool:
        """Whether guards say of two objects that they are what they were."""
        found = [self._guards[n] for name in (read.one, read.other) for n in self.at(name)]
        if not found:
            return not read.known  # it may be one of two variables of the function
        sources = GuardSources(found)
        sides = [[path for text in found for path in _paths(text) if spelled_plainly(path) == name]
                 for name in (read.one, read.other)]  # fmt: skip
        if any(text.startswith("check_tensor(") and name in _names(text) for text in found
               for name in (read.one, read.other)):  # fmt: skip
            return True  # torch guards which tensors are one
        if all(any(sources.pin(path) for path in side) for side in sides):
            return True
        return any(sources.same(one, other) or sources.apart(one, other) for one in sides[0] for other in sides[1])


def _last(name: str) -> str:
    """The last key of a path: each guard on it has that in its text."""
    tree = parse(name, mode="eval").body
    if isinstance(tree, ast.Attribute):
        return tree.attr
    if isinstance(tree, ast.Subscript) and isinstance(tree.slice, ast.Constant):
        return str(tree.slice.value)
    return name


def _within(name: str) -> Callable[[str], bool]:
    parts = f"{name}.", f"{name}["
    return lambda known: known == name or known.startswith(parts)


def _names_of_one(guard: str) -> tuple[str, str] | None:
    """The two names in ``A is B``."""
    tree = read_guard(guard)
    if not isinstance(tree, ast.Compare) or len(tree.ops) != 1 or not isinstance(tree.ops[0], ast.Is):
        return None
    if any(isinstance(node, ast.Call) for node in ast.walk(tree)):  # as type(A) is type(B), which are two objects
        return None
    one, other = (list(map(known_path, sources_in(side))) for side in (tree.left, tree.comparators[0]))
    return (spelled_plainly(one[0]), spelled_plainly(other[0])) if len(one) == len(other) == 1 else None


def _names(guard: str) -> list[str]:
    return list(map(spelled_plainly, _paths(guard)))


def _paths(guard: str) -> list[str]:
    tree = read_guard(guard)
    return [] if tree is None else list(map(known_path, sources_in(tree)))
