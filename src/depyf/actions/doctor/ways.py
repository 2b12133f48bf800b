"""The ways out of a run that need no edit of the program, and what each of them did when it was tried.

Input: what was measured as the program is, and under each way.  Output: ``TriedWay`` records: better, useless, or
harmful.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable
from dataclasses import dataclass, replace

from depyf.actions.doctor.returned_values import first_difference
from depyf.actions.doctor.trial import Measured
from depyf.actions.doctor.trial_files import FollowedAdvice
from depyf.run.advice.advice import AdviceUse, SwitchKind
from depyf.run.advice.registry import ADVICE, text_of
from depyf.run.bill.guard_filters import GAIN, GUARD_FILTERS, LEAST, GuardFilter
from depyf.run.causes.cause import Cause
from depyf.run.causes.prediction import Prediction

TOGETHER = "all that help, together"


class WayOutcome(enum.Enum):
    """The effect of a way out on the program."""

    HELPS = "helps"
    """Fewer compilations, breaks, functions in ordinary Python or errors that the program catches, none of them more,
    and the results are the same."""
    MIXED = "mixed"
    """Less of one, more of another."""
    NOTHING = "changes nothing"
    WORSE = "worse"
    HARMFUL = "harmful"
    """What compiled functions returned is another."""
    FAILED = "failed"
    """The program did not come to its end as it did before."""


@dataclass(frozen=True, slots=True)
class PlannedWay:
    """Advice that is followed together, and what is predicted of it."""

    ways: tuple[FollowedAdvice, ...]
    prediction: Prediction | None = None
    """None where nothing is predicted."""
    causes: frozenset[int] = frozenset()
    """The numbers of the causes that it is a way out of."""
    guard_filter: GuardFilter | None = None
    """Guards are left out."""

    @property
    def removed(self) -> int:
        return 0 if self.prediction is None else self.prediction.removed

    @property
    def text(self) -> str:
        if self.guard_filter is not None:
            return f"guard_filter_fn = torch.compiler.{self.guard_filter.name}"
        return "; ".join(map(way_in_words, self.ways))


@dataclass(frozen=True, slots=True)
class TriedWay:
    """One run of the program with some advice applied."""

    plan: PlannedWay
    measured: Measured
    outcome: WayOutcome
    detail: str = ""
    """What is wrong with it."""
    results: str = ""
    """``equal``, ``differ``, or ``unknown`` where the program itself returns something else in each run."""

    together: bool = False
    """It is all that helps, followed at once."""

    @property
    def text(self) -> str:
        return TOGETHER if self.together else self.plan.text

    @property
    def wrong(self) -> bool:
        """Whether the measured number of compilations contradicts the prediction."""
        finished = self.outcome not in (WayOutcome.FAILED, WayOutcome.HARMFUL)
        predicted = self.plan.prediction
        return finished and predicted is not None and not predicted.holds(self.measured.totals.compilations)


def way_in_words(way: FollowedAdvice) -> str:
    """The text of an advice; for a mark, with the name of its function."""
    switch = ADVICE[way.use.id].switch
    text = text_of(way.use).partition(" (")[0].partition(": ")[0]
    of = f" of {way.function}" if switch is not None and switch.kind is SwitchKind.MARK else ""
    return f"{text}{of}"


def ways_out(causes: Iterable[Cause], named: Iterable[tuple[AdviceUse, str]]) -> tuple[PlannedWay, ...]:
    """The ways out of the causes that need no edit, each once; those of which more is predicted to be gone come first.

    ``named``: the advice of the dump with the names of the functions that it is about: a cause may call a wrapper by
    what it wraps.
    """
    functions: dict[AdviceUse, list[str]] = {}
    for use, function in named:
        functions.setdefault(use, []).append(function)
    found: dict[tuple[FollowedAdvice, ...], PlannedWay] = {}
    for number, cause in enumerate(causes):
        for way in cause.ways:
            if not all(_switch(use) for use in way.uses):
                continue
            followed = tuple(
                dict.fromkeys(
                    _followed(use, function) for use in way.uses for function in functions.get(use, [cause.function])
                )
            )
            plan = found.get(followed) or PlannedWay(followed, way.prediction)
            found[followed] = replace(plan, causes=plan.causes | {number})
    return tuple(sorted(found.values(), key=lambda way: -way.removed))


def guard_ways(measured: Measured) -> tuple[PlannedWay, ...]:
    """Filters of guards, where the guards of a call take long enough for it."""
    return tuple(PlannedWay((), guard_filter=one) for one in GUARD_FILTERS) if measured.guards >= LEAST else ()


def _switch(use: AdviceUse) -> bool:
    return use.id in ADVICE and ADVICE[use.id].switch is not None


def _followed(use: AdviceUse, function: str) -> FollowedAdvice:
    """An option is set once, whatever asked for it; a mark is of the tensor of one function."""
    switch = ADVICE[use.id].switch
    marks = switch is not None and switch.kind is SwitchKind.MARK
    named = ADVICE[use.id].names and switch is not None and switch.kind is not SwitchKind.CONFIG
    return FollowedAdvice(use if named else AdviceUse(use.id), function if marks else "")


def judged(plan: PlannedWay, before: Measured, after: Measured, deterministic: bool) -> TriedWay:
    """Judge a way out by the runs before and after it.  ``deterministic``: two runs of the unchanged program returned
    the same."""
    if before.status and not after.status and after.totals.errors <= before.totals.errors:
        return TriedWay(plan, after, WayOutcome.HELPS, "", "unknown")  # it comes to its end now
    if (
        after.status != before.status
        or (after.seconds is None and before.seconds is not None)
        or after.totals.errors > before.totals.errors
    ):
        problem = after.problem or f"it ended with status {after.status}"
        if after.totals.errors > before.totals.errors and not after.problem:
            problem = "torch raises an error into the program"
        return TriedWay(plan, after, WayOutcome.FAILED, problem)
    results, detail = "unknown", ""
    if deterministic and before.calls is not None and after.calls is not None:
        detail = first_difference(before.calls, after.calls, mended=after.totals.errors < before.totals.errors)
        results = "differ" if detail else "equal"
    if detail:
        return TriedWay(plan, after, WayOutcome.HARMFUL, detail, results)
    pairs = list(zip(_counts(after), _counts(before)))
    less = any(number < earlier for number, earlier in pairs)
    more = any(number > earlier for number, earlier in pairs)
    now, then = after.totals, before.totals
    less = less or now.errors < then.errors
    python = now.ran_as_python + now.errors < then.ran_as_python + then.errors
    if python and now.ran_as_python <= then.ran_as_python and now.breaks <= then.breaks:
        more = False  # what ran as ordinary Python, or failed, is compiled now: that takes compilations
    if plan.guard_filter is not None and before.guards:  # it is for the time of a call: the counts stay
        less = not more and after.guards <= (1 - GAIN) * before.guards
    outcome = (
        WayOutcome.MIXED
        if less and more
        else WayOutcome.HELPS
        if less
        else WayOutcome.WORSE
        if more
        else WayOutcome.NOTHING
    )
    return TriedWay(plan, after, outcome, "", results)


def best_first(tried: Iterable[TriedWay]) -> list[TriedWay]:
    """The tried ways, sorted by outcome, the best first, and then by what is left to fix; of two that leave as much,
    the one with fewer changes."""
    rank = list(WayOutcome)
    return sorted(
        tried, key=lambda way: (rank.index(way.outcome), _left(way.measured), way.together, way.measured.guards)
    )


def all_that_help(tried: Iterable[TriedWay]) -> tuple[FollowedAdvice, ...]:
    """The advice of the best helpful way out for each cause, to be followed together; () for fewer than two ways.
    Alternatives for the same cause are not combined."""
    chosen: list[PlannedWay] = []
    for way in best_first(tried):
        met = frozenset[int]().union(*(plan.causes for plan in chosen))
        if way.outcome is WayOutcome.HELPS and way.plan.ways and not way.plan.causes <= met:
            chosen.append(way.plan)
    if len(chosen) < 2:
        return ()
    return tuple(dict.fromkeys(one for plan in chosen for one in plan.ways))


def _counts(measured: Measured) -> tuple[int, int, int]:
    return measured.totals.compilations, measured.totals.breaks, measured.totals.ran_as_python


def _left(measured: Measured) -> int:
    compilations, breaks, python = _counts(measured)
    return compilations + breaks + 10 * (python + measured.totals.errors)
