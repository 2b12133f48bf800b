"""The section of ``index.md`` on recompilations: which guard of which entry did not hold, and what would avoid it.

Input: functions and entries that were compiled again.  Output: lines of Markdown; what repeats what stands before it is
one line.
"""

from __future__ import annotations

from collections.abc import Mapping

from depyf.run.advice.registry import sentence
from depyf.run.causes.deciding import DecidingGuards
from depyf.run.causes.folding import folded_ids
from depyf.run.causes.stack_names import in_words
from depyf.run.guards.difference import values_beside
from depyf.run.records import CompileKey, EntryRecord, FunctionRecord, RecompileRecord
from depyf.views.pages.markdown import code, message, plain
from depyf.views.pages.sections.words import at, function_name

_FEW = 8
"""So many values are shown of those that repeat."""


Names = Mapping[tuple[int, str], Mapping[str, str]]


def recompile_lines(pairs: list[tuple[FunctionRecord, EntryRecord]], names: Names) -> list[str]:
    """Each recompilation, or attempt at one, in the order of the compile ids; ``names`` of values that go over a
    break."""
    lines: list[str] = []
    known: dict[tuple[int, str], DecidingGuards] = {}
    start = 0
    while start < len(pairs):
        function, entry = pairs[start]
        deciding = known.setdefault(function.function, DecidingGuards(function))
        end = start + 1
        while end < len(pairs) and pairs[end][0] is function and _alike(deciding, entry, pairs[end][1]):
            end += 1
        lines += _recompilation(function, entry, deciding, names.get(function.function, {}))
        lines += _repeated(deciding, [again for _, again in pairs[start + 1 : end]])
        start = end
    return lines


def _alike(deciding: DecidingGuards, first: EntryRecord, other: EntryRecord) -> bool:
    """Whether two entries were made for the same reason, and what came of it is the same."""
    one, two = deciding.of(first), deciding.of(other)
    ends = bool(first.failed) == bool(other.failed) and first.raised == other.raised
    same = ends and one.place == two.place and one.advice == two.advice
    return same and deciding.words(one) == deciding.words(two)


def _recompilation(
    function: FunctionRecord, entry: EntryRecord, deciding: DecidingGuards, names: Mapping[str, str]
) -> list[str]:
    end = "torch raised an error" if entry.raised else "it ran as ordinary Python"
    ran = f" (not compiled again: {end})" if entry.failed else ""
    lines = [f"- {function_name(function.code)}, {entry.key.label}{ran}:"]
    told: dict[tuple[str, object], int] = {}
    decided = deciding.of(entry)
    for record in entry.recompiles:
        reason = deciding.words(record), record.place
        if reason in told:
            told[reason] += 1
            continue
        told[reason] = 0
        lines.append(_unfit(record, names))
        if record.advice and record is decided:
            lines.append(f"    - to avoid it: {message(in_words(sentence(record.advice), names))}")
    more = sum(told.values())
    if more:
        lines.append(f"  - {more} earlier {'entry' if more == 1 else 'entries'} did not fit for the same reason")
    return lines


def _unfit(record: RecompileRecord, names: Mapping[str, str]) -> str:
    values = values_beside(record.guard, record.expected, record.actual)
    place = f" ({at(record.place)})" if record.place else ""
    return (
        f"  - {plain(record.entry or 'an earlier entry')} did not fit: "
        f"{code(in_words(record.guard, names))}{place}{message(values)}"
    )


def _repeated(deciding: DecidingGuards, entries: list[EntryRecord]) -> list[str]:
    """One line for the entries that were compiled for the same reason as the one before them."""
    if not entries:
        return []
    keys: list[CompileKey] = [entry.key for entry in entries]
    actual = [deciding.of(entry).actual for entry in entries]
    values = list(dict.fromkeys(value for value in actual if value))
    shown = values if len(values) <= _FEW else [*values[: _FEW - 1], "..."]
    return [f"  - {folded_ids(keys)}: the same" + (f", got {message(', '.join(shown))}" if shown else "")]
