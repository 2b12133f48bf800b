"""The ways out of a run that need no edit of the program, and what each of them did when it was tried.

Input: what was measured as the program is, and under each way.  Output: ``TriedWay`` records: better, useless, or
harmful.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from depyf.actions.doctor.returned_values import first_difference
from depyf.actions.doctor.trial import FollowedAdvice, Measured
from depyf.run.advice.advice import AdviceUse, SwitchKind
from depyf.run.advice.registry import ADVICE, text_of
from depyf.run.causes.cause import Cause

TOGETHER = "all that help, together"


class WayOutcome(enum.Enum):
    """What became of a way out."""

    HELPS = "helps"
    """Fewer compilations, breaks or functions in ordinary Python, none of them more, and the results are the same."""
    MIXED = "mixed"
    """Less of one, more of another."""
    NOTHING = "changes nothing"
    WORSE = "worse"
    HARMFUL = "harmful"
    """What compiled functions returned is another."""
    FAILED = "failed"
    """The program did not come to its end as it did before."""


@dataclass(frozen=True, slots=True)
class TriedWay:
    """One run of the program under some advice."""

    ways: tuple[FollowedAdvice, ...]
    measured: Measured
    outcome: WayOutcome
    detail: str = ""
    """What is wrong with it."""
    results: str = ""
    """``equal``, ``differ``, or ``unknown`` where the program itself returns something else in each run."""

    @property
    def text(self) -> str:
        return TOGETHER if len(self.ways) > 1 else way_in_words(self.ways[0])


def way_in_words(way: FollowedAdvice) -> str:
    """The advice, and of a mark the function that it is for."""
    switch = ADVICE[way.use.id].switch
    text = text_of(way.use).partition(" (")[0].partition(": ")[0]
    of = f" of {way.function}" if switch is not None and switch.kind is SwitchKind.MARK else ""
    return f"{text}{of}"


def ways_out(causes: Iterable[Cause], more: Iterable[tuple[AdviceUse, str]]) -> tuple[FollowedAdvice, ...]:
    """The switches among the advice on the causes, then among the ``more`` advice of the dump; each once."""
    found: dict[tuple[AdviceUse, str], FollowedAdvice] = {}
    more = list(more)
    given = []
    for cause in causes:
        for use in cause.advice:  # a cause may call a wrapper by what it wraps; the dump has the name of the code
            known = [(other, function) for other, function in more if other == use]
            given += known or [(use, cause.function)]
    for use, function in (*given, *more):
        switch = ADVICE[use.id].switch if use.id in ADVICE else None
        if switch is None:
            continue
        about = function if switch.kind is SwitchKind.MARK else ""
        plain = use if ADVICE[use.id].names and switch.kind is not SwitchKind.CONFIG else AdviceUse(use.id)
        found.setdefault((plain, about), FollowedAdvice(use, about))
    return tuple(found.values())


def judged(ways: Sequence[FollowedAdvice], before: Measured, after: Measured, deterministic: bool) -> TriedWay:
    """What the ways did, against the program as it is."""
    ways = tuple(ways)
    if (
        after.status != before.status
        or (after.seconds is None and before.seconds is not None)
        or after.totals.errors > before.totals.errors
    ):
        problem = after.problem or f"it ended with status {after.status}"
        if after.totals.errors > before.totals.errors and not after.problem:
            problem = "torch raises an error into the program"
        return TriedWay(ways, after, WayOutcome.FAILED, problem)
    results, detail = "unknown", ""
    if deterministic and before.calls is not None and after.calls is not None:
        detail = first_difference(before.calls, after.calls)
        results = "differ" if detail else "equal"
    if detail:
        return TriedWay(ways, after, WayOutcome.HARMFUL, detail, results)
    pairs = list(zip(_counts(after), _counts(before)))
    less = any(number < earlier for number, earlier in pairs)
    more = any(number > earlier for number, earlier in pairs)
    now, then = after.totals, before.totals
    if now.ran_as_python < then.ran_as_python and now.breaks <= then.breaks:
        more = False  # what ran as ordinary Python is compiled now: that takes compilations
    outcome = (
        WayOutcome.MIXED
        if less and more
        else WayOutcome.HELPS
        if less
        else WayOutcome.WORSE
        if more
        else WayOutcome.NOTHING
    )
    return TriedWay(ways, after, outcome, "", results)


def best_first(tried: Iterable[TriedWay]) -> list[TriedWay]:
    """Those that help, by how much; then those that do not."""
    rank = list(WayOutcome)
    return sorted(tried, key=lambda way: (rank.index(way.outcome), _left(way.measured)))


def _counts(measured: Measured) -> tuple[int, int, int]:
    return measured.totals.compilations, measured.totals.breaks, measured.totals.ran_as_python


def _left(measured: Measured) -> int:
    compilations, breaks, python = _counts(measured)
    return compilations + breaks + 10 * python
