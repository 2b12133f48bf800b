"""How many compilations of a function would be left if some values could change without another one.

Input: the entries of a function with their ``RefusalRecord`` lists: for each call that made an entry all guards of all
earlier entries that failed.  Freeing a value (a size, a number, a flag) removes its guards; a call needs no entry of
its own if nothing is left of what failed of some earlier one.  So the number of compilations follows for each set of
freed values without running anything.  Output: ``GuardReplay``: the smallest sets that remove most, each with the
number that is left.

The search tries all sets of up to ``_LARGEST`` values, of the ``_MOST`` that failed most often; values that always fail
together are one.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from depyf.run.advice.source_names import named
from depyf.run.guards.difference import Difference
from depyf.run.records import EntryRecord, EntryState, FailedGuardRecord

_LARGEST = 3
"""Values of a set, those that always fail together counted once."""
_MOST = 12


@dataclass(frozen=True, slots=True, order=True)
class GuardedValue:
    """What a guard looks at: a property of a value."""

    source: str
    """In the program's words: ``x``, ``self.k``; "" for the state of torch."""
    what: str = ""
    """``size``, ``dtype``, ``type``; "" for the value itself."""
    index: int | None = None
    kind: str = ""
    """The kind of the guard, where no value is known."""


@dataclass(frozen=True, slots=True)
class FreedValues:
    """Values that are freed together, and how many compilations are left then."""

    values: tuple[GuardedValue, ...]
    left: int


@dataclass(frozen=True, slots=True)
class GuardReplay:
    """What freeing values does for one function."""

    compilations: int
    ways: tuple[FreedValues, ...]
    """Each leaves fewer than any smaller set of its values; those that leave the fewest first, of these the
    smallest."""
    needed: int
    """How many are left whatever is freed."""


def guarded_value(difference: Difference) -> GuardedValue:
    """What a difference is about.  Strides follow sizes: a program that changes one changes the other."""
    source = named(difference.source) if difference.source else ""
    if difference.others:  # a relation: nothing that one value alone could free
        related = ", ".join(sorted({source, *map(named, difference.others)} - {""}))
        return GuardedValue(related, difference.what, difference.index, difference.kind)
    kind = "" if source else difference.kind
    return GuardedValue(source, difference.what, difference.index, kind)


def failed_values(failed: Iterable[FailedGuardRecord]) -> frozenset[GuardedValue]:
    """What would have to be free for these guards to hold."""
    found = set()
    for guard in failed:
        values = {guarded_value(difference) for difference in guard.differences}
        found |= values or {GuardedValue("", guard.guard, kind="unknown")}
    return frozenset(found)


def replay(entries: Sequence[EntryRecord], fixed: frozenset[GuardedValue] = frozenset()) -> GuardReplay:
    """``entries``: those of one function that have code, in the order in which they were made; ``fixed``: what cannot
    be freed."""
    ordered = sorted(
        (entry for entry in entries if entry.state is EntryState.COMPILED), key=lambda entry: entry.key.order
    )
    known = {entry.key.text for entry in ordered}
    table = [
        {
            refusal.entry: failed_values(refusal.failed)
            for refusal in entry.refusals
            if refusal.entry in known and refusal.failed
        }
        for entry in ordered
    ]
    names = [entry.key.text for entry in ordered]
    groups = _together(table, fixed)
    ways: list[FreedValues] = []
    least: dict[frozenset[int], int] = {}
    for size in range(1, min(_LARGEST, len(groups)) + 1):
        for chosen in combinations(range(len(groups)), size):
            values = frozenset(value for number in chosen for value in groups[number])
            left = left_over(names, table, values)
            smaller = (
                [least[frozenset(part)] for part in combinations(chosen, size - 1)] if size > 1 else [len(ordered)]
            )
            least[frozenset(chosen)] = left
            if left < min(smaller):
                ways.append(FreedValues(tuple(sorted(values, key=_order)), left))
    everything = frozenset(value for row in table for values in row.values() for value in values) - fixed
    ways.sort(key=lambda way: (way.left, len(way.values)))
    return GuardReplay(len(ordered), tuple(ways), left_over(names, table, everything))


def left_over(
    names: Sequence[str], table: Sequence[Mapping[str, frozenset[GuardedValue]]], freed: frozenset[GuardedValue]
) -> int:
    """How many of the entries ``names`` are still made.  ``table``: for the call of each, what failed of which earlier
    one."""
    kept: list[str] = []
    for name, row in zip(names, table, strict=True):
        if not any(other in row and row[other] <= freed for other in kept):
            kept.append(name)
    return len(kept)


def _together(
    table: Sequence[Mapping[str, frozenset[GuardedValue]]], fixed: frozenset[GuardedValue]
) -> list[tuple[GuardedValue, ...]]:
    """The values that may be freed, those that fail in the same cells of the table in one group; the most frequent
    first."""
    cells: dict[GuardedValue, set[tuple[int, str]]] = {}
    for number, row in enumerate(table):
        for other, values in row.items():
            for value in values - fixed:
                cells.setdefault(value, set()).add((number, other))
    groups: dict[frozenset[tuple[int, str]], list[GuardedValue]] = {}
    for value in sorted(cells, key=_order):
        groups.setdefault(frozenset(cells[value]), []).append(value)
    often = Counter({where: len(where) for where in groups})
    return [tuple(groups[where]) for where, _ in often.most_common(_MOST)]


@functools.cache
def _order(value: GuardedValue) -> tuple[str, str, int, str]:
    return value.source, value.what, -1 if value.index is None else value.index, value.kind
