"""What the guards of each function cost, and which of them ever told calls apart.

Input: a run.  Output: for each function the guards of its latest entry, by the line of the program that needs them, and
how many guards failed in any call that was recorded.  Microseconds are torch's measure of all guards of an entry
(``guard_latency_us``: once) and, where depyf ran the program, the median of some; both differ in every run, so they are
separate properties.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from depyf.run.bill.guard_time import GuardTime
from depyf.run.places.place import Place
from depyf.run.records import CompileKey, EntryRecord, EntryState, FunctionRecord
from depyf.run.run import Run

COLD = "guards_of_one_call"
"""Among the seconds of a compilation: torch's measure of a check of all its guards."""
WARM = "guards_of_one_call_measured"
"""The same, measured by depyf: the median of some checks."""
_MOST = 12


@dataclass(frozen=True, slots=True)
class GuardedLine:
    """The guards that one line of the program needs."""

    place: Place | None
    guards: int
    failed: int
    """How many of them kept an entry from running, in any recorded call."""


@dataclass(frozen=True, slots=True)
class FunctionGuards:
    """The number and cost of the guards of one function."""

    key: CompileKey
    """Its latest entry."""
    function: str
    entries: int
    guards: int
    """Of the latest entry."""
    left_out: int
    """That a filter left out of it."""
    failed: int
    """Distinct guards of all its entries that kept one from running."""
    asked: int
    """How often an entry was asked and did not fit, as far as that made torch compile."""
    lines: tuple[GuardedLine, ...]
    """Those with most guards first."""


def guard_bill(run: Run) -> tuple[FunctionGuards, ...]:
    """The functions with most guards first."""
    found = [bill for function in run.functions if (bill := _of_function(function)) is not None]
    return tuple(sorted(found, key=lambda bill: (-bill.guards, bill.key.order)))


def microseconds(run: Run, which: str = WARM) -> dict[CompileKey, float]:
    """The microseconds for one check of all guards of each entry, as depyf measured it, else as torch did."""
    known = {times.key: dict(times.seconds) for times in run.times}
    return {
        key: 1e6 * seconds
        for key, own in known.items()
        if (seconds := own.get(which, own.get(COLD))) is not None and 0 <= seconds < 1
    }


def time_by_line(run: Run, key: CompileKey) -> tuple[GuardTime, ...]:
    """What the guards of an entry take by the line that needs them, the most first; () where that was not measured."""
    known = [time for times in run.times if times.key == key for time in times.guards]
    return tuple(sorted(known, key=lambda time: (-time.seconds, time.file, time.line)))


def guards_of_a_call(run: Run) -> float:
    """The microseconds of one guard check, summed over the latest entry of each function."""
    known = microseconds(run)
    return sum(known.get(bill.key, 0.0) for bill in guard_bill(run))


def _of_function(function: FunctionRecord) -> FunctionGuards | None:
    entries = [entry for entry in function.entries if entry.state is EntryState.COMPILED]
    if not entries:
        return None
    latest = max(entries, key=lambda entry: entry.key.order)
    failed = {guard for entry in function.entries for guard in _failed(entry)}
    if not latest.guards:
        return None
    return FunctionGuards(
        key=latest.key,
        function=function.code.shown,
        entries=len(entries),
        guards=len(latest.guards),
        left_out=len(latest.left_out),
        failed=len(failed),
        asked=sum(len(entry.refusals) or len(entry.recompiles) for entry in function.entries),
        lines=_lines(latest, Counter(failed)),
    )


def _failed(entry: EntryRecord) -> list[str]:
    """The guards of earlier entries that did not hold in the call that this one was made for."""
    if entry.refusals:
        return [one.guard for refusal in entry.refusals for one in refusal.failed]
    return [record.guard for record in entry.recompiles if record.guard]


def _lines(entry: EntryRecord, failed: Mapping[str, int]) -> tuple[GuardedLine, ...]:
    places: dict[tuple[str, int], Place | None] = {}
    counts: Counter[tuple[str, int]] = Counter()
    told: Counter[tuple[str, int]] = Counter()
    for guard in entry.guards:
        key = (guard.place.filename, guard.place.line) if guard.place is not None else ("", 0)
        places.setdefault(key, guard.place)
        counts[key] += 1
        told[key] += guard.expression in failed
    ordered = sorted(counts, key=lambda key: (-counts[key], key))
    return tuple(GuardedLine(places[key], counts[key], told[key]) for key in ordered[:_MOST])
