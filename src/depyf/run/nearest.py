"""Which earlier entry was nearest to the call that made another one.

torch names for each entry the first guard that failed.  How many failed in all is told by the guards of the entry that was
made then: they say what the call was like.

Input: the entries of one function.  Output: the same, with the reasons of each recompilation in that order.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import replace

from depyf.run.records import EntryRecord, RecompileRecord

_UNSAID = ("check_no_aliasing(", "no_dynamic_marks(", "marks_within(")
"""Guards that may hold in a call although the entry that was made for it has none of the kind."""


def nearest_first(entries: Sequence[EntryRecord]) -> list[EntryRecord]:
    """Each entry with its ``recompiles`` sorted; those that are alike stay in the order in which torch tried them."""
    guards = {entry.key.text: _EntryGuards(entry) for entry in entries}
    return [_sorted(entry, guards) if len(entry.recompiles) > 1 else entry for entry in entries]


class _EntryGuards:
    """The guards of an entry, and what is said of their sizes: found once, for all entries that it is compared with."""

    def __init__(self, entry: EntryRecord) -> None:
        self.texts = frozenset(g.expression for g in entry.guards if not g.expression.startswith(_UNSAID))

    @functools.cached_property
    def sizes(self) -> dict[str, re.Match[str]]:
        """Tensor -> the guard on its sizes."""
        return {match["tensor"]: match for text in self.texts if (match := _SIZES.match(text)) is not None}

    @functools.cached_property
    def constants(self) -> int:
        """How many sizes are constants."""
        found = filter(None, map(_SIZES.match, self.texts))
        return sum(size != "None" for match in found for size in match["sizes"].split(", "))


def _sorted(entry: EntryRecord, guards: dict[str, _EntryGuards]) -> EntryRecord:
    own = guards[entry.key.text]

    def distance(record: RecompileRecord) -> tuple[int, int]:
        earlier = guards.get(record.entry)
        return _distance(earlier, own) if earlier is not None and earlier.texts and own.texts else (0, 0)

    return replace(entry, recompiles=tuple(sorted(entry.recompiles, key=distance)))


def _distance(earlier: _EntryGuards, own: _EntryGuards) -> tuple[int, int]:
    """How many guards of ``earlier`` did not hold, as far as ``own`` tells; then how many sizes are constants in it: of two
    entries that missed by as much the one for more sizes is nearer."""
    differing = earlier.texts - own.texts
    conditions = {text for text in differing if _OF_A_SIZE.search(text) and _SIZES.match(text) is None}
    tensors = {text: match for text in differing if (match := _SIZES.match(text)) is not None}
    fit = {text for text, match in tensors.items() if _fits(match, own.sizes.get(match["tensor"]))}
    return len(differing - conditions - fit) + bool(conditions), earlier.constants


def _fits(earlier: re.Match[str], own: re.Match[str] | None) -> bool:
    """Whether the earlier guard, for any size where it says None, holds of the tensor that ``own`` is a guard on."""
    if own is None or _LAYOUT.sub("", earlier.string) != _LAYOUT.sub("", own.string):
        return False
    wanted, found = _numbers(earlier.string), _numbers(own.string)
    return len(wanted) == len(found) and all(w in ("None", f) for w, f in zip(wanted, found, strict=True))


def _numbers(guard: str) -> list[str]:
    return [number for numbers in _LAYOUT.findall(guard) for number in numbers.split(", ")]


_LAYOUT = re.compile(r"(?<=(?:size|ride)=\[)[^]]*(?=\])")
_OF_A_SIZE = re.compile(r"\.(?:size|stride|storage_offset)\(\)")
_SIZES = re.compile(r"check_tensor\((?P<tensor>.+?), .* size=\[(?P<sizes>[^]]*)\]")


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


def _sizes(entry: EntryRecord) -> dict[str, str]:
    found = (_SIZES.match(guard.expression) for guard in entry.guards)
    return {match["tensor"]: match["sizes"] for match in found if match is not None}
