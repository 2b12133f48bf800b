"""Which earlier entry was nearest to the call that made another one.

torch names for each entry the first guard that failed.  How many failed in all is told by the guards of the entry that was
made then: they say what the call was like.

Input: the entries of one function.  Output: the same, with the reasons of each recompilation in that order.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from depyf.dump.records import EntryRecord, RecompileRecord

_UNSAID = ("check_no_aliasing(", "no_dynamic_marks(", "marks_within(")
"""Guards that may hold in a call although the entry that was made for it has none of the kind."""


def nearest_first(entries: Sequence[EntryRecord]) -> list[EntryRecord]:
    """Each entry with its ``recompiles`` sorted; those that are alike stay in the order in which torch tried them."""
    guards = {
        entry.key.text: frozenset(g.expression for g in entry.guards if not g.expression.startswith(_UNSAID))
        for entry in entries
    }
    return [_sorted(entry, guards) if len(entry.recompiles) > 1 else entry for entry in entries]


def _sorted(entry: EntryRecord, guards: dict[str, frozenset[str]]) -> EntryRecord:
    own = guards[entry.key.text]

    def distance(record: RecompileRecord) -> int:
        earlier = guards.get(record.entry)
        return len(earlier - own) if earlier and own else 0

    return replace(entry, recompiles=tuple(sorted(entry.recompiles, key=distance)))


_SIZES = re.compile(r"check_tensor\((?P<tensor>.+?), .* size=\[(?P<sizes>[^]]*)\]")


def without_lone_marks(entries: Sequence[EntryRecord]) -> list[EntryRecord]:
    """Each entry without the advice to mark one tensor where several came with another size than the earlier entry has:
    torch raises an error where one of them is marked and another keeps its size."""
    sizes = {entry.key.text: _sizes(entry) for entry in entries}

    def told(entry: EntryRecord, record: RecompileRecord) -> RecompileRecord:
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


def _sizes(entry: EntryRecord) -> dict[str, str]:
    found = (_SIZES.match(guard.expression) for guard in entry.guards)
    return {match["tensor"]: match["sizes"] for match in found if match is not None}
