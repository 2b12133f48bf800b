"""Which entries of one function are the same in two runs: by their guards, then by their code, then by their order.

Input: the entries of a function on both sides, in any order.  Output: pairs, oldest first; None where one side lacks
the entry.  torch tries the newest entry first, so that the places in its list say nothing.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Hashable, Sequence

from depyf.run.records import EntryRecord

_COUNTED = re.compile(r"(?<=_)\d+\b")
"""Numbers that torch appends to names: of globals, of compiled functions."""
EntryPair = tuple[EntryRecord | None, EntryRecord | None]


def paired_entries(one: Sequence[EntryRecord], two: Sequence[EntryRecord]) -> list[EntryPair]:
    """The entries of ``one`` with their partners in ``two`` (None for none), then the remaining entries of ``two``."""
    ours, theirs = (sorted(side, key=lambda entry: entry.key.order) for side in (one, two))
    partner: dict[int, EntryRecord] = {}
    for key in _KEYS:
        _pair(ours, theirs, key, partner)
    taken = {id(entry) for entry in partner.values()}
    left = [entry for entry in theirs if id(entry) not in taken]
    for mine in [entry for entry in ours if id(entry) not in partner]:
        if left:
            nearest = max(left, key=lambda other: _nearness(mine, other))
            left.remove(nearest)
            partner[id(mine)] = nearest
    return [*((mine, partner.get(id(mine))) for mine in ours), *((None, other) for other in left)]


def _nearness(mine: EntryRecord, other: EntryRecord) -> tuple[int, bool]:
    return len(guards_of_entry(mine) & guards_of_entry(other)), _code(mine) == _code(other)


def guards_of_entry(entry: EntryRecord) -> frozenset[str]:
    """The guards of an entry as text, without the numbers in torch's names."""
    return frozenset(_COUNTED.sub("N", guard.expression or guard.text) for guard in entry.guards)


_NEARLY = 0.8
"""How alike the texts of two guards are that ask the same for another value."""


def other_value(mine: EntryRecord, other: EntryRecord) -> tuple[str, str] | None:
    """The first guard that both entries have with another value, as (mine, other); None for none.  Guards of one side
    only say less: they follow from what was compiled."""
    sides = [[guard.expression or guard.text for guard in entry.guards] for entry in (mine, other)]
    known = [{_COUNTED.sub("N", text) for text in side} for side in sides]
    ours, theirs = (
        [text for text in side if _COUNTED.sub("N", text) not in there] for side, there in zip(sides, known[::-1])
    )
    for one in ours:
        for two in theirs:
            if difflib.SequenceMatcher(None, one, two).ratio() > _NEARLY:
                return one, two
    return None


def _code(entry: EntryRecord) -> Hashable:
    transformed = entry.transformed
    text = "" if transformed is None else _COUNTED.sub("N", transformed.source)
    return entry.state, entry.operations, text, len(entry.breaks)


_KEYS: tuple[Callable[[EntryRecord], Hashable | None], ...] = (
    lambda entry: (guards_of_entry(entry), _code(entry)) if entry.guards else None,
    lambda entry: guards_of_entry(entry) or None,
    lambda entry: None if entry.guards else (_code(entry), _values(entry)),
)


def _values(entry: EntryRecord) -> Hashable:
    """What a call had for which the entry was made."""
    return tuple((record.guard, record.actual) for record in entry.recompiles)


def _pair(
    ours: Sequence[EntryRecord],
    theirs: Sequence[EntryRecord],
    key: Callable[[EntryRecord], Hashable | None],
    partner: dict[int, EntryRecord],
) -> None:
    """Pair the entries with equal keys, in their order."""
    taken = {id(entry) for entry in partner.values()}
    groups: dict[Hashable, list[EntryRecord]] = {}
    for other in theirs:
        if id(other) not in taken:
            groups.setdefault(key(other), []).append(other)
    for mine in ours:
        wanted = key(mine) if id(mine) not in partner else None
        if wanted is not None and (group := groups.get(wanted)):
            partner[id(mine)] = group.pop(0)
