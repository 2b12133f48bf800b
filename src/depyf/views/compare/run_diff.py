"""What two runs did differently, as events: functions, compilations, graph breaks, recompilations.

Input: the functions of two runs.  Output: lines for people, the earliest difference first; () where both
did the same.  The files of the dumps then show what followed from it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

from depyf.run.cache_keys import CacheKey, OtherPart, missed_for
from depyf.run.global_names import in_words
from depyf.run.guards.difference import values_beside
from depyf.run.installed_files import installed, library_file
from depyf.run.places.place import Place
from depyf.run.records import EntryState, FunctionRecord, RecompileRecord
from depyf.safety.escape import one_line
from depyf.views.compare.pairing import Met, Pairing, met, moved, pairing
from depyf.views.compare.program_folder import from_folder, program_folders

_MOST_PARTS = 5
_MANY = 12
"""Lines that are shown; what came later mostly follows from what came first."""


def events_apart(
    first: Sequence[FunctionRecord], second: Sequence[FunctionRecord], pairs: Pairing | None = None
) -> list[str]:
    """Lines on the events that differ between the runs "1" and "2".  ``pairs``: their functions, if already paired."""
    folders = program_folders(first, second)
    if pairs is None:
        pairs = pairing(*(met(f, partial(from_folder, folder=folder)) for f, folder in zip((first, second), folders)))
    lines: list[str] = []
    for one, two in _in_order(pairs):
        if one is None or two is None:
            there = one or two
            lines += _only(there, "1" if two is None else "2") if there is not None else []
        else:
            apart = moved(one, two)
            lines += [f"{_name(one.record)} {apart}"] if apart and not one.is_resume else []
            lines += _apart(one, two, pairs, folders)
    shifted = _shifted(first, second, pairs)
    more = len(lines) - _MANY
    if more > 0:
        lines = [*lines[:_MANY], f"and {more} more"]
    return _cached(first, second) + lines + shifted


def _in_order(pairs: Pairing) -> list[tuple[Met | None, Met | None]]:
    """Those that both have, or the first; then those of the second alone; last what neither run compiled itself."""
    return sorted(pairs.pairs, key=lambda pair: (all(_from_before(side) for side in pair), pair[0] is None))


def _from_before(side: Met | None) -> bool:
    """Whether the run found it compiled: all its entries are older than the recording."""
    return side is None or (bool(side.record.entries) and all(entry.before for entry in side.record.entries))


def _cached(first: Sequence[FunctionRecord], second: Sequence[FunctionRecord]) -> list[str]:
    """What only one of the two found in torch's compile caches: that alone makes files that are there on one side
    only."""
    one, two = _hits(first), _hits(second)
    lines = []
    for mine, other, side, without in ((one, two, "1", "2"), (two, one, "2", "1")):
        found = {key: mine[key] - other[key] for key in mine if key in other and mine[key] - other[key]}
        if found:
            caches = ", ".join(sorted(set().union(*found.values())))
            lines.append(
                f"only {side} found {', '.join(found)} in torch's caches ({caches}): "
                f"what a hit does not run again is in {without} only"
            )
    return lines


def hit_on_one_side(
    first: Sequence[FunctionRecord], second: Sequence[FunctionRecord]
) -> tuple[frozenset[str], frozenset[str]]:
    """The compile ids that only the first found in torch's caches, and those that only the second did."""
    one, two = _hits(first), _hits(second)
    return (
        frozenset(key for key in one if key in two and one[key] - two[key]),
        frozenset(key for key in two if key in one and two[key] - one[key]),
    )


def keys_apart(first: Sequence[CacheKey], second: Sequence[CacheKey]) -> list[str]:
    """Why the second run did not find in torch's caches what the first one looked up: the same graph, another key."""
    found: dict[tuple[str, tuple[OtherPart, ...]], list[str]] = {}
    for asked, parts in missed_for(first, second):
        found.setdefault((asked.cache, parts), []).append(asked.key.label)
    lines = []
    for (cache, parts), labels in found.items():
        told = ", ".join(one_line(part.words) for part in parts[:_MOST_PARTS])
        more = f", and {len(parts) - _MOST_PARTS} more" if len(parts) > _MOST_PARTS else ""
        asked_for = ", ".join(dict.fromkeys(labels))
        lines.append(f"2 did not find {asked_for} in torch's cache ({cache}), for the key differs in {told}{more}")
    return lines


def _hits(functions: Iterable[FunctionRecord]) -> dict[str, set[str]]:
    """compile id -> the caches that had it."""
    return {entry.key.text: set(entry.found_in) for function in functions for entry in function.entries}


def _place(place: Place | None, folder: str) -> str:
    """A line of the program in ``folder``; of a library only the file, whose lines differ between versions."""
    text = "" if place is None else f"{place.filename}:{place.line}"
    return library_file(text).rpartition(":")[0] if installed(text) else from_folder(text, folder)


def _name(function: FunctionRecord) -> str:
    return f"{function.code.qualname} ({function.code.filename}:{function.code.line})"


def _only(there: Met, side: str) -> list[str]:
    function = there.record
    if function.resume_of is not None:  # what a graph break leaves; the break itself is told
        return []
    if not function.entries:
        return []
    if _from_before(there):
        return [f"only in {side}: {_name(function)}, which was compiled before its recording began"]
    return [f"only {side} compiled {_name(function)}", *_lacking(function, _breaks(function, ""), {}, side)]


def _apart(mine: Met, other: Met, pairs: Pairing, folders: tuple[str, str]) -> list[str]:
    one, two = mine.record, other.record
    lines: list[str] = []
    breaks = _breaks(one, folders[0], pairs), _breaks(two, folders[1])
    for this, side in ((one, "1"), (two, "2")):
        that = two if side == "1" else one
        lines += _lacking(this, *(breaks if side == "1" else breaks[::-1]), side)
        lines += _lacking(this, _given_up(this), _given_up(that), side)
        lines += _lacking(this, _recompiled(this), _recompiled(that), side)
    counts = [sum(entry.state is EntryState.COMPILED for entry in function.entries) for function in (one, two)]
    if counts[0] != counts[1]:
        lines.append(f"{_name(one)}: {counts[0]} compilation{'s' * (counts[0] != 1)} in 1, {counts[1]} in 2")
    return lines


def _lacking(function: FunctionRecord, mine: dict[str, str], other: dict[str, str], side: str) -> list[str]:
    return [f"{_name(function)}: only {side} {what}" for key, what in mine.items() if key not in other]


def _breaks(function: FunctionRecord, folder: str, pairs: Pairing | None = None) -> dict[str, str]:
    """Place, as the second run has it -> what to say of it; another torch says the cause in other words."""
    found: dict[str, str] = {}
    for entry in function.entries:
        for broken in entry.breaks:
            if not broken.limit:  # that the function is given up is told
                at = broken.caller or broken.place
                there = pairs.place(at, folder) if pairs is not None and at is not None else at
                where = f"{at.filename}:{at.line}" if at is not None else "a line that torch did not name"
                found[_place(there, folder)] = f"breaks the graph at {where}: {broken.cause}"
    return found


def _given_up(function: FunctionRecord) -> dict[str, str]:
    first = next((entry for entry in function.entries if entry.failed), None)
    if first is None:
        return {}
    what = "raised an error" if first.state is EntryState.FAILED else "ran it as ordinary Python"
    return {"failed": f"{what}: {one_line(first.failed)}"}


def _recompiled(function: FunctionRecord) -> dict[str, str]:
    found = [_reason(entry.recompiles[0]) for entry in function.entries if entry.recompiles]
    return {reason: f"compiled it again, because an entry did not fit: {reason}" for reason in found}


def _reason(record: RecompileRecord) -> str:
    return record.guard + values_beside(record.guard, record.expected, record.actual)


def _shifted(first: Iterable[FunctionRecord], second: Iterable[FunctionRecord], pairs: Pairing) -> list[str]:
    """From which compile id on the two sides' ids are of different functions."""
    one, two = _owners(first), _owners(second)
    same = {
        (id(mine.record), id(other.record)) for mine, other in pairs.pairs if mine is not None and other is not None
    }
    for key, owner in one.items():
        if key in two and (id(owner), id(two[key])) not in same:
            names = [in_words(side.code.qualname) for side in (owner, two[key])]
            return [f"from {key} on compile ids are of other functions ({key} is {names[0]} in 1, {names[1]} in 2)"]
    return []


def _owners(functions: Iterable[FunctionRecord]) -> dict[str, FunctionRecord]:
    found = {entry.key.text: function for function in functions for entry in function.entries}
    return dict(sorted(found.items(), key=lambda pair: [int(n) if n.isdigit() else -1 for n in pair[0].split("/")]))
