"""What ``depyf.why`` can tell of the functions that are compiled inside a call, without running it.

Input: the function that is asked about, its arguments, and what torch compiled inside earlier calls.  Output:
``InnerAnswer`` records.  The arguments of an inner function are computed by the call, so that only some of its guards
can be asked: those on globals, on variables that it closes over, and, of a method, on its object, where that is found
among the arguments and globals. A guard that fails now keeps its entry from running as things stand before the call.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from depyf.actions.asking.differences import Refusal, refusal_lines
from depyf.decompiler.bytecode.host.written_names import qualified_name
from depyf.run.global_names import in_words
from depyf.run.places.place import Place
from depyf.sources.live.caches.entries import LiveEntry, cache_entries
from depyf.sources.live.caches.inner_functions import InnerFunction, InnerFunctions
from depyf.sources.live.events.torch_options import recompile_limit
from depyf.sources.live.guards.ask import PartOfEntry, knows_all
from depyf.sources.live.guards.guard_values import GuardStep
from depyf.sources.live.pure_access import attribute, class_namespace, classes_of, is_a, own_attributes
from depyf.sources.live.pure_tensors import is_tensor
from depyf.sources.live.resume import resume_targets, unchanged_arguments
from depyf.sources.live.target import Target, free_variables, functions_of

_MOST = 4096
"""So many objects are looked through for those that an inner method may be called on."""


@dataclass(frozen=True, slots=True)
class ForObject:
    """An inner function, and the objects for which the answer is the same; none for a plain function."""

    names: tuple[str, ...]
    """``model.h.0``: how the function that was asked about reaches each of them."""
    refusals: tuple[Refusal, ...]
    may_run: tuple[str, ...]
    """The entries of which no guard is known to fail."""


@dataclass(frozen=True, slots=True)
class InnerAnswer:
    """An inner function that torch compiled separately, and which of its entries may run in this call."""

    function: str
    place: str
    calls: tuple[Place, ...]
    """The lines that call it; () where torch has not kept them."""
    entries: int
    answers: tuple[ForObject, ...]
    at_limit: bool
    """It has as many entries as torch allows: where none fits, it runs as ordinary Python."""

    @property
    def again(self) -> bool:
        """Whether no entry fits for at least one object, given the state before the call."""
        return any(not answer.may_run for answer in self.answers)

    @property
    def outcome(self) -> str:
        """What happens to the function in this call, in a few words."""
        if self.again:
            return "runs as ordinary Python (recompile limit)" if self.at_limit else "is compiled again"
        return "is dispatched by itself"

    def lines(self) -> list[str]:
        at = ", ".join(dict.fromkeys(str(call.line) for call in self.calls))
        called = f", called at line{'s' if ',' in at else ''} {at}" if at else ""
        count = "1 entry" if self.entries == 1 else f"{self.entries} entries"
        lines = [f"inside: {in_words(self.function)} ({self.place}){called}: {count}"]
        for answer in self.answers:
            lines += ["  " + line for line in self._lines(answer)]
        return lines

    def _lines(self, answer: ForObject) -> list[str]:
        names = ", ".join(answer.names[:4]) + (f" and {len(answer.names) - 4} more" if len(answer.names) > 4 else "")
        where = f"for self = {names}: " if names else ""
        if not answer.may_run:
            end = "it runs as ordinary Python (recompile limit)" if self.at_limit else "torch compiles another one"
            told = [f"{where}none fits as things stand before the call: {end}"]
        else:
            which = ", ".join(answer.may_run[:6]) + (" ..." if len(answer.may_run) > 6 else "")
            told = [f"{where}{which} may run: the other guards are on values that the call computes"]
        return told + ["  " + line for line in refusal_lines(answer.refusals)]

    def to_json(self) -> dict[str, Any]:
        return {
            "function": self.function,
            "place": self.place,
            "called_at": [f"{call.filename}:{call.line}" for call in self.calls],
            "entries": self.entries,
            "outcome": self.outcome,
            "objects": [
                {
                    "names": list(answer.names),
                    "may_run": list(answer.may_run),
                    "refusals": [refusal.to_json() for refusal in answer.refusals],
                }
                for answer in self.answers
            ],
        }


_Refuse = Callable[[str, tuple[GuardStep, ...]], Refusal]


def inner_answers(
    target: Target, L: dict[str, Any], inner: InnerFunctions, resolve: Callable[[str], str], refuse: _Refuse
) -> tuple[InnerAnswer, ...]:
    """One answer for each function inside ``target`` that has cache entries.  ``refuse`` describes an entry that does
    not fit."""
    found = list(_all_inside(target.code, inner))
    codes = [target.code, *(one.code for one in found)]
    objects = list(_objects(target, L, codes))
    limit = recompile_limit()
    return tuple(_answer(one, objects, limit, resolve, refuse) for one in found if cache_entries(one.code))


def rest_answers(
    entry: LiveEntry, code: types.CodeType, L: dict[str, Any], resolve: Callable[[str], str], refuse: _Refuse
) -> tuple[InnerAnswer, ...]:
    """One answer for each resume function of ``code`` after the graph breaks of ``entry``.  Only guards on arguments
    that ``code`` does not rebind can be evaluated."""
    given = {name: L[name] for name in unchanged_arguments(code) if name in L}
    limit = recompile_limit()
    todo = [rest for _, rest in resume_targets(entry)]
    seen: list[types.CodeType] = []
    found = []
    while todo:
        rest = todo.pop(0)
        if any(rest is known for known in seen):
            continue
        seen.append(rest)
        entries = cache_entries(rest)
        if entries:
            found.append(_answer(InnerFunction(rest, ()), [], limit, resolve, refuse, given))
        todo += [later for one in entries for _, later in resume_targets(one)]
    return tuple(found)


def _all_inside(code: types.CodeType, inner: InnerFunctions) -> Iterator[InnerFunction]:
    known, todo = [code], list(inner.of(code))
    while todo:
        one = todo.pop(0)
        if not any(one.code is seen for seen in known):
            known.append(one.code)
            yield one
            todo += inner.of(one.code)


def _answer(
    one: InnerFunction,
    objects: list[tuple[str, Any]],
    limit: int | None,
    resolve: Callable[[str], str],
    refuse: _Refuse,
    given: dict[str, Any] | None = None,
) -> InnerAnswer:
    """``given``: variables of the function whose values are known."""
    code = one.code
    functions = functions_of(code)
    closed = (free_variables(functions[0]) if len(functions) == 1 else {}) | (given or {})
    owners = [(name, value) for name, value in objects if _is_method(value, code)] if code.co_argcount else []
    entries = cache_entries(code)
    there = {*closed, *(code.co_varnames[:1] if owners else ())}
    asked = [
        (entry.compile_id, PartOfEntry(entry, lambda expression: knows_all(expression, there), resolve, code))
        for entry in entries
    ]
    groups: dict[Any, tuple[list[str], list[Refusal], list[str]]] = {}
    for name, value in owners or [("", None)]:
        L = closed | ({code.co_varnames[0]: value} if name else {})
        refusals, may_run = [], []
        for compile_id, part in asked:
            failing = part.failing(L)
            if failing:
                refusals.append(refuse(compile_id, failing))
            else:
                may_run.append(compile_id)
        same = (
            tuple((r.compile_id, tuple((d.subject, d.step) for d in r.differences)) for r in refusals),
            tuple(may_run),
        )
        names, _, _ = groups.setdefault(same, ([], refusals, may_run))
        names += [name] if name else []
    answers = tuple(ForObject(tuple(names), tuple(refused), tuple(may)) for names, refused, may in groups.values())
    place = f"{code.co_filename}:{code.co_firstlineno}"
    at_limit = limit is not None and len(entries) >= limit
    return InnerAnswer(qualified_name(code), place, one.calls, len(entries), answers, at_limit)


def _is_method(value: Any, code: types.CodeType) -> bool:
    return any(attribute(found, "__code__") is code for cls in classes_of(value) for found in _functions(cls))


def _functions(cls: type) -> Iterator[types.FunctionType]:
    return (found for found in class_namespace(cls).values() if type(found) is types.FunctionType)


def _objects(target: Target, L: dict[str, Any], codes: list[types.CodeType]) -> Iterator[tuple[str, Any]]:
    """(name, object) of what the functions may call methods on: arguments, globals that they name, modules in these."""
    names = {name for code in codes for name in code.co_names}
    scope = {name: value for name, value in target.function.__globals__.items() if name in names}
    todo = [(str(name), value) for name, value in (*L.items(), *scope.items())]
    seen: set[int] = set()
    while todo and len(seen) < _MOST:
        name, value = todo.pop(0)
        if id(value) in seen or is_tensor(value) or is_a(value, type, types.ModuleType, types.FunctionType):
            continue
        seen.add(id(value))
        yield name, value
        modules = attribute(value, "_modules")
        if type(modules) is dict:
            todo += [(f"{name}.{part}", module) for part, module in modules.items() if module is not None]
        elif name.count(".") < 2:
            own = own_attributes(value) or {}
            todo += [(f"{name}.{part}", held) for part, held in own.items() if own_attributes(held) is not None]
