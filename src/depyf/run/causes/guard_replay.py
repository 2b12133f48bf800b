"""How many compilations of a function would be left if some values could change without another one.

Input: the entries of a function with their ``RefusalRecord`` lists: for each call that made an entry all guards of all
earlier entries that failed.  Freeing a value (a size, a number, a flag) removes its guards; a call needs no new entry
if no failed guard of some earlier entry is left.  So the number of compilations follows for each set of freed values
without running anything.  Output: ``GuardTable``, which counts; ``GuardReplay``: the smallest sets that remove most,
each with the number that is left.

The search tries all sets of up to ``_LARGEST`` values, of the ``_MOST`` that failed most often; values that always fail
together are one.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from depyf.run.advice.source_names import named
from depyf.run.causes.program_questions import ProgramQuestions, values_of_call
from depyf.run.guards.difference import Difference
from depyf.run.guards.kinds.tensor_guard import layout_of
from depyf.run.places.place import Place
from depyf.run.records import CompileKey, EntryRecord, EntryState, FailedGuardRecord, RefusalRecord

_LARGEST = 3
"""Values of a set, those that always fail together counted once."""
_MOST = 12
_BOUNDS = frozenset(("!=", "<=", ">=", "<", ">", "between"))
"""How a guard wants a value that may change."""


@dataclass(frozen=True, slots=True, order=True)
class GuardedValue:
    """A value, or a property of one, that a guard reads."""

    source: str
    """In the program's words: ``x``, ``self.k``; "" for the state of torch."""
    what: str = ""
    """``size``, ``dtype``, ``type``; "" for the value itself."""
    index: int | None = None
    kind: str = ""
    """The kind of the guard, where no value is known, or where it is a condition on one."""
    small: bool = False
    """A size of 0 or 1 is on one side: torch makes no symbol of these."""

    @property
    def whole(self) -> frozenset[GuardedValue]:
        """This value, both with ``small`` set and without."""
        return frozenset({replace(self, small=False), replace(self, small=True)})


Values = frozenset[GuardedValue]
NOTHING: Values = frozenset()
Offsets = Mapping[CompileKey, Mapping[str, int]]
"""Entry -> tensor, in the program's words -> where in its storage it began in the call that made the entry."""
_UNKNOWN: Offsets = {}


@dataclass(frozen=True, slots=True)
class FreedValues:
    """Values that are freed together, and how many compilations are left then."""

    values: tuple[GuardedValue, ...]
    left: int


@dataclass(frozen=True, slots=True)
class GuardReplay:
    """How many compilations of one function are left when values are made dynamic."""

    compilations: int
    ways: tuple[FreedValues, ...]
    """Each leaves fewer than any smaller set of its values; those that leave the fewest first, of these the
    smallest."""
    needed: int
    """How many are left whatever is freed."""


def guarded_value(difference: Difference) -> GuardedValue:
    """The value, or the property of a value, that ``difference`` is about."""
    source = named(difference.source) if difference.source else ""
    if difference.others:  # a relation: nothing that one value alone could free
        related = ", ".join(sorted({source, *map(named, difference.others)} - {""}))
        return GuardedValue(related, difference.what, difference.index, difference.kind)
    small = difference.small and difference.what == "size"
    condition = difference.relation in _BOUNDS and not small  # what the program asks about a symbol
    kind = difference.kind if condition or not source else ""
    return GuardedValue(source, difference.what, difference.index, kind, small)


@dataclass(frozen=True, slots=True)
class FailedValue:
    """A value of which a guard did not hold."""

    value: GuardedValue
    difference: Difference | None
    """None where nothing but the text of the guard is known."""
    place: Place | None


def failed_in(failed: Iterable[FailedGuardRecord]) -> list[FailedValue]:
    """What would have to be free for these guards to hold.

    Strides follow from sizes: of a tensor that came with another size its strides are left out.  What is no tensor in
    the call has no size and no stride that could be free.
    """
    found = []
    for guard in failed:
        known = [FailedValue(guarded_value(one), one, guard.place) for one in guard.differences]
        found += known or [FailedValue(GuardedValue("", guard.guard, kind="unknown"), None, guard.place)]
    there = [one for one in found if one.difference is None or not _of_no_tensor(one.difference)]
    found = there or found
    sized = {one.value.source for one in found if one.value.what == "size"}
    return [one for one in found if one.value.what != "stride" or one.value.source not in sized]


def _of_no_tensor(difference: Difference) -> bool:
    return difference.found.missing and difference.of_layout


def failed_values(failed: Iterable[FailedGuardRecord]) -> Values:
    """The guarded values of ``failed``, without the records."""
    return frozenset(one.value for one in failed_in(failed))


class GuardTable:
    """For the call of each entry of one function: what failed of which earlier entry."""

    def __init__(self, entries: Sequence[EntryRecord], offsets: Offsets = _UNKNOWN) -> None:
        """``entries``: those of one function; those without code are left out.  ``offsets``: those that are known."""
        ordered = sorted(
            (entry for entry in entries if entry.state is EntryState.COMPILED), key=lambda entry: entry.key.order
        )
        self.entries = ordered
        self.names = [entry.key.text for entry in ordered]
        self._offsets = {entry.key.text: offsets[entry.key] for entry in ordered if entry.key in offsets}
        known = frozenset(self.names)
        self.refusals: list[list[RefusalRecord]] = [
            [refusal for refusal in entry.refusals if refusal.entry in known and refusal.failed] for entry in ordered
        ]
        self.rows = [{one.entry: failed_values(one.failed) for one in row} for row in self.refusals]
        self.values: Values = frozenset(value for row in self.rows for values in row.values() for value in values)

    @property
    def compilations(self) -> int:
        return len(self.names)

    def left(
        self,
        freed: Values,
        when_changed: Values = NOTHING,
        ducks: bool = False,
        at_first: Values = NOTHING,
        alone: bool = False,
    ) -> int:
        """How many entries are still made: see ``kept``."""
        return len(self.kept(freed, when_changed, ducks, at_first, alone))

    def kept(
        self,
        freed: Values,
        when_changed: Values = NOTHING,
        ducks: bool = False,
        at_first: Values = NOTHING,
        alone: bool = False,
    ) -> list[list[str]]:
        """The entries that are still made, each with those whose calls it serves, itself first.

        ``freed``: values that may change from the first call on; ``when_changed``: values that are free in entries
        made after they changed, as torch makes a size dynamic by default; ``at_first``: the same, and in the first
        entry, as a mark on the tensor of the first call does.

        An entry that serves the call of another one, too, has the guards of both: where a size is free, the program's
        questions about it are conditions, which the entry for one size does not show.  ``ducks``: sizes that are equal
        when an entry is made are one symbol in it (duck sizing: torch/fx/experimental/symbolic_shapes.py).  ``alone``:
        an entry has the guards of its first call only.
        """
        kept: list[tuple[list[str], Values]] = []
        changed: Values = NOTHING
        for name, row in zip(self.names, self.rows, strict=True):
            serving = (
                one
                for one, free in kept
                if self._serves(one[:1] if alone else one, row, freed | free)
                and not (ducks and self._parts_ducks(name, one[0]))
                and not self._parts_offsets(name, one[0], freed | free, ducks)
                and not self._asks_otherwise(name, one[0], free | freed if ducks else free)
            )
            found = next(serving, None)
            if found is not None:
                found.append(name)
                continue
            later = when_changed | {value for value in at_first if not value.small}
            changed |= {v for one, _ in kept for other in one for v in row.get(other, NOTHING) & later}
            kept.append(([name], changed if kept else at_first))
        return [names for names, _ in kept]

    @staticmethod
    def _serves(entries: Sequence[str], row: Mapping[str, Values], freed: Values) -> bool:
        """Whether what failed of ``entries``, which are one, is nothing but ``freed`` values; the first of them was
        asked."""
        first, *more = entries
        return (
            first in row and row[first] <= freed and all(_sized(row[other]) <= freed for other in more if other in row)
        )

    def _parts_ducks(self, name: str, earlier: str) -> bool:
        """Whether sizes that were equal for the entry ``earlier`` differ in the call of ``name``."""
        changed = self._changed_sizes.get((name, earlier), {})
        for size, members in self._equal_sizes[earlier].items():
            if len({changed.get(member, size) for member in members}) > 1:
                return True
        return False

    @functools.cached_property
    def may_part_ducks(self) -> bool:
        """Whether sizes that were equal in the first call changed, and were equal in each call that made an entry: in
        calls that made none, and that are not recorded, they may differ."""
        if not self.names:
            return False
        equal = [frozenset(members) for members in self._equal_sizes[self.names[0]].values()]
        changed = [sizes.keys() for sizes in self._changed_sizes.values()]
        return any(len(members & sizes) > 1 for members in equal for sizes in changed)

    def _parts_offsets(self, name: str, earlier: str, freed: Values, ducks: bool) -> bool:
        """Whether a tensor with a size that is a symbol begins at 0 or 1 in its storage in the call of ``name``, and
        further on in that of ``earlier``: there the offset is a symbol, too, which is never 0 or 1."""
        sized = {value.source for value in freed if value.what == "size"}
        now = self._offsets.get(name, {})
        return any(
            offset > 1 and now.get(tensor, offset) <= 1 and (ducks or tensor in sized)
            for tensor, offset in self._offsets.get(earlier, {}).items()
        )

    def has_no_start(self, tensor: str) -> bool:
        """Whether the inputs of an entry are known, and ``tensor`` is none of them."""
        return any(tensor not in starts for starts in self._offsets.values())

    def _asks_otherwise(self, name: str, earlier: str, symbols: Values) -> bool:
        """Whether the program goes another way in the call of ``name`` than in that of ``earlier``, by what it asks
        about ``symbols``."""
        questions, values = self._questions
        freed = (f"{one.source}.size()[{one.index}]" if one.what == "size" else one.source for one in symbols)
        return questions[name].answers_otherwise(values[earlier], freed)

    @functools.cached_property
    def _questions(self) -> tuple[dict[str, ProgramQuestions], dict[str, dict[str, int]]]:
        """Entry -> what was asked for it, and the values of its call."""
        return (
            {entry.key.text: ProgramQuestions(entry) for entry in self.entries},
            {entry.key.text: values_of_call(entry) for entry in self.entries},
        )

    @functools.cached_property
    def _changed_sizes(self) -> dict[tuple[str, str], dict[tuple[str, int], str]]:
        """(entry, earlier one) -> size that differs -> what it is in the call of the former."""
        return {
            (name, refusal.entry): {
                (named(one.source), one.index): one.found.text
                for failed in refusal.failed
                for one in failed.differences
                if one.what == "size" and one.index is not None
            }
            for name, row in zip(self.names, self.refusals, strict=True)
            for refusal in row
        }

    @functools.cached_property
    def _equal_sizes(self) -> dict[str, dict[str, list[tuple[str, int]]]]:
        """Entry -> size -> the sizes of arguments that it is for and that are equal."""
        found: dict[str, dict[str, list[tuple[str, int]]]] = {}
        for entry in self.entries:
            equal = found.setdefault(entry.key.text, {})
            for guard in entry.guards:
                layout = layout_of(guard.expression)
                if layout is None or layout.of_parameter:
                    continue
                for index, size in enumerate(layout.sizes):
                    if size is not None and size > 1:
                        equal.setdefault(str(size), []).append((named(layout.tensor), index))
        return found

    def replay(self, fixed: Values = NOTHING) -> GuardReplay:
        """The sets of values that remove compilations; ``fixed``: what cannot be freed."""
        groups = self._together(fixed)
        ways: list[FreedValues] = []
        least: dict[frozenset[int], int] = {}
        for size in range(1, min(_LARGEST, len(groups)) + 1):
            for chosen in combinations(range(len(groups)), size):
                values = frozenset(value for number in chosen for value in groups[number])
                left = self.left(values)
                smaller = (
                    [least[frozenset(part)] for part in combinations(chosen, size - 1)]
                    if size > 1
                    else [self.compilations]
                )
                least[frozenset(chosen)] = left
                if left < min(smaller):
                    ways.append(FreedValues(tuple(sorted(values, key=in_order)), left))
        free = self.values - fixed
        needed = self.left(free)
        if needed < min((way.left for way in ways), default=self.compilations):
            ways.append(FreedValues(self._without_idle(free, needed), needed))
        ways.sort(key=lambda way: (way.left, len(way.values)))
        return GuardReplay(self.compilations, tuple(ways), needed)

    def _without_idle(self, values: Values, left: int) -> tuple[GuardedValue, ...]:
        """``values`` without those that may be fixed while ``left`` compilations are left: no smaller set of these does
        it, another one may."""
        for value in sorted(values, key=in_order):
            if self.left(values - {value}) == left:
                values -= {value}
        return tuple(sorted(values, key=in_order))

    def _together(self, fixed: Values) -> list[tuple[GuardedValue, ...]]:
        """The values that may be freed, those that fail in the same cells of the table in one group; the most frequent
        first."""
        cells: dict[GuardedValue, set[tuple[int, str]]] = {}
        for number, row in enumerate(self.rows):
            for other, values in row.items():
                for value in values - fixed:
                    cells.setdefault(value, set()).add((number, other))
        groups: dict[frozenset[tuple[int, str]], list[GuardedValue]] = {}
        for value in sorted(cells, key=in_order):
            groups.setdefault(frozenset(cells[value]), []).append(value)
        often = Counter({where: len(where) for where in groups})
        return [tuple(groups[where]) for where, _ in often.most_common(_MOST)]


def _sized(values: Values) -> Values:
    """``values`` without where tensors begin in their storage, which the first of several calls decides."""
    return frozenset(value for value in values if value.what != "storage_offset")


def replay(entries: Sequence[EntryRecord], fixed: Values = NOTHING) -> GuardReplay:
    """``GuardTable.replay`` of the entries of one function."""
    return GuardTable(entries).replay(fixed)


@functools.cache
def in_order(value: GuardedValue) -> tuple[str, str, int, str, bool]:
    """The sort key of a guarded value."""
    return value.source, value.what, -1 if value.index is None else value.index, value.kind, value.small
