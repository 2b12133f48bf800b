"""Which earlier entry was nearest to the call that made another one.

torch names for each entry the first guard that failed.  How many failed in all is told by the guards of the entry that
was made then: they say what the call was like.

Input: the entries of one function.  Output: the same, with the reasons of each recompilation in that order.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace

from depyf.run.advice.source_names import reads_layout
from depyf.run.guards.kinds.tensor_guard import TensorLayout, layout_of
from depyf.run.guards.known_kinds import UNSAID
from depyf.run.records import EntryRecord, RecompileRecord


def nearest_first(entries: Sequence[EntryRecord]) -> list[EntryRecord]:
    """Each entry with its ``recompiles`` sorted; those that are alike stay in the order in which torch tried them."""
    guards = {entry.key.text: _EntryGuards(entry) for entry in entries}
    return [_sorted(entry, guards) if len(entry.recompiles) > 1 else entry for entry in entries]


class _EntryGuards:
    """The guards of an entry, and what is said of their sizes: found once, for all entries that it is compared with."""

    def __init__(self, entry: EntryRecord) -> None:
        expressions = (guard.expression for guard in entry.guards)
        self.texts = frozenset(text for text in expressions if text.partition("(")[0] not in UNSAID)

    @functools.cached_property
    def layouts(self) -> dict[str, TensorLayout]:
        """Guard -> what it says of sizes."""
        return {text: found for text in self.texts if (found := layout_of(text)) is not None}

    @functools.cached_property
    def of_tensors(self) -> dict[str, TensorLayout]:
        """The same by tensors."""
        return {layout.tensor: layout for layout in self.layouts.values()}

    @functools.cached_property
    def constants(self) -> int:
        """How many sizes are constants."""
        return sum(size is not None for layout in self.layouts.values() for size in layout.sizes)


def _sorted(entry: EntryRecord, guards: dict[str, _EntryGuards]) -> EntryRecord:
    own = guards[entry.key.text]

    def distance(record: RecompileRecord) -> tuple[int, int]:
        earlier = guards.get(record.entry)
        return _distance(earlier, own) if earlier is not None and earlier.texts and own.texts else (0, 0)

    return replace(entry, recompiles=tuple(sorted(entry.recompiles, key=distance)))


def _distance(earlier: _EntryGuards, own: _EntryGuards) -> tuple[int, int]:
    """How many guards of ``earlier`` did not hold, as far as ``own`` tells; then how many sizes are constants in it: of
    two entries that missed by as much the one for more sizes is nearer."""
    differing = earlier.texts - own.texts
    conditions = {text for text in differing if reads_layout(text) and text not in earlier.layouts}
    tensors = {text: earlier.layouts[text] for text in differing if text in earlier.layouts}
    fit = {text for text, layout in tensors.items() if layout.allows(own.of_tensors.get(layout.tensor))}
    return len(differing - conditions - fit) + bool(conditions), earlier.constants


def without_lone_marks(entries: Sequence[EntryRecord]) -> list[EntryRecord]:
    """Each entry without the advice to mark one tensor where several came with another size than the earlier entry has:
    torch raises an error where one of them is marked and another keeps its size."""
    sizes = {entry.key.text: _sizes(entry) for entry in entries}

    def told(entry: EntryRecord, record: RecompileRecord) -> RecompileRecord:
        if all(use.id != "mark-dynamic" for use in record.advice):
            return record
        earlier, own = sizes.get(record.entry, {}), sizes[entry.key.text]
        if sum(own.get(tensor, wanted) != wanted for tensor, wanted in earlier.items()) < 2:
            return record
        return replace(record, advice=tuple(use for use in record.advice if use.id != "mark-dynamic"))

    return [
        replace(entry, recompiles=tuple(told(entry, record) for record in entry.recompiles))
        if entry.recompiles
        else entry
        for entry in entries
    ]


def _sizes(entry: EntryRecord) -> dict[str, tuple[int | None, ...]]:
    found = (layout_of(guard.expression) for guard in entry.guards)
    return {layout.tensor: layout.sizes for layout in found if layout is not None}
