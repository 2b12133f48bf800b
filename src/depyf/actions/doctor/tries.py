"""Runs a program again, once for each way out that needs no edit, and judges what that did.

Input: a program, how it ran, and the folder of that run's dump.  Output: ``Tries``.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from depyf.actions.doctor.returned_values import first_difference
from depyf.actions.doctor.trial import DoctorProgram, Measured, more_advice, run_once
from depyf.actions.doctor.trial_files import FollowedAdvice
from depyf.actions.doctor.ways import TOGETHER, PlannedWay, TriedWay, all_that_help, guard_ways, judged, ways_out

MOST = 8
"""So many ways out are tried by default."""


@dataclass(frozen=True, slots=True)
class Tries:
    """The results of trying ways out."""

    ways: tuple[TriedWay, ...] = ()
    difference: str = ""
    """What two runs of the program as it is differ in; "" where they returned the same."""
    left_out: int = 0
    """How many ways out were not tried."""
    interrupted: bool = False
    """The user did not wait for the others."""


def try_ways(
    program: DoctorProgram,
    base: Measured,
    dump: Path,
    work: Path,
    *,
    most: int = MOST,
    timeout: float | None = None,
    tell: Callable[[str], None] = lambda text: None,
    guards: bool = False,
) -> Tries:
    """Try at most ``most`` ways out, and then all that help together.  ``guards``: try filters of guards first.
    ``base``: a compared run; ``work``: a folder for the runs; ``timeout``: seconds for each run, by default ten times
    those of the first plus a minute; ``tell`` gets a line before each run.  Where a run is interrupted: what was tried
    until then; KeyboardInterrupt if that is nothing."""
    limit = timeout or 10 * (base.seconds or 0.0) + 60.0
    found = (*(guard_ways(base) if guards else ()), *ways_out(base.causes, more_advice(dump)))
    ways = found[:most]
    if not ways:
        return Tries(left_out=len(found))
    runs = len(ways) + 1

    def run(number: int, what: str, *chosen: FollowedAdvice, guard_filter: str = "") -> Measured:
        tell(f"run {number} of {runs}: {what}")
        place = work / f"run_{number}"
        measured = run_once(
            program, chosen, place, place / "dump", compare=True, shown=False, limit=limit, guard_filter=guard_filter
        )
        shutil.rmtree(place, ignore_errors=True)
        if measured.interrupted:
            raise KeyboardInterrupt
        return measured

    def follow(number: int, way: PlannedWay) -> Measured:
        named = way.guard_filter.name if way.guard_filter is not None else ""
        return run(number, way.text, *way.ways, guard_filter=named)

    again = run(1, "as it is, once more")
    difference = first_difference(base.calls or {}, again.calls or {})
    if base.guards and again.guards:  # what else the machine did was in one of the two
        base = replace(base, guards=min(base.guards, again.guards))
    tried: list[TriedWay] = []
    try:
        for number, way in enumerate(ways, 2):
            tried.append(judged(way, base, follow(number, way), not difference))
        every = all_that_help(tried)
        if every:
            runs += 1
            measured = run(runs, TOGETHER, *every)
            tried.append(replace(judged(PlannedWay(every), base, measured, not difference), together=True))
    except KeyboardInterrupt:
        if not tried:
            raise
        return Tries(tuple(tried), difference, max(0, len(found) - len(tried)), interrupted=True)
    return Tries(tuple(tried), difference, len(found) - len(ways))
