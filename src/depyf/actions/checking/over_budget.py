"""What of a run is over its budget, and why.

Input: a dump and the limits.  Output: an ``Excess`` for each number that is too large, with the findings that explain
it: the causes that made it, else the functions that have most of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from depyf.actions.checking.measures import BY_NAME, Measure, Views
from depyf.run.causes.cause import Cause
from depyf.run.causes.collect import causes_of
from depyf.run.causes.folding import folded_ids
from depyf.run.places.place import Place
from depyf.run.records import EntryState
from depyf.views.findings.finding import Level, LocatedFinding, of_cause, over_budget

_SHOWN = 3
"""So many functions are named where there is no cause."""
UPDATE = "where this is meant, write the new number: depyf check --update"


@dataclass(frozen=True, slots=True)
class Excess:
    """One number that is over its limit."""

    measure: str
    found: int
    allowed: int
    findings: tuple[LocatedFinding, ...]
    """Why, the most important first; at least one."""

    @property
    def text(self) -> str:
        return in_words(BY_NAME[self.measure], self.found, self.allowed)


def in_words(measure: Measure, found: int, allowed: int) -> str:
    return f"{measure.words}: {found:,}, the budget is {allowed:,}"


def excesses(views: Views, numbers: Mapping[str, int | None], limits: Mapping[str, int]) -> tuple[Excess, ...]:
    """The numbers above their limits, in the order of the budget, each with its causes."""
    causes = [cause for view in views for cause in causes_of(view.run)]
    found = []
    for name, allowed in limits.items():
        number = numbers[name]
        if number is not None and number > allowed:
            measure = BY_NAME[name]
            found.append(Excess(name, number, allowed, tuple(_reasons(measure, number, allowed, causes, views))))
    return tuple(found)


def untold(numbers: Mapping[str, int | None], limits: Mapping[str, int]) -> list[str]:
    """The measures with a limit for which the dump has no number."""
    return [name for name in limits if numbers[name] is None]


def _reasons(
    measure: Measure, number: int, allowed: int, causes: Iterable[Cause], views: Views
) -> list[LocatedFinding]:
    told = in_words(measure, number, allowed)
    known: dict[tuple[str, str, int, str], LocatedFinding] = {}
    for cause in causes:
        if cause.kind in measure.causes:
            known.setdefault(cause.key, of_cause(cause, Level.ERROR))
    found = list(known.values())
    if measure.of_entry is not None or not found:
        found = [*_functions(measure, told, views), *found]
    return found or [over_budget(told, ways=(UPDATE,), subject=measure.name)]


def _functions(measure: Measure, told: str, views: Views) -> list[LocatedFinding]:
    """The functions that have most of it."""
    most: list[tuple[int, LocatedFinding]] = []
    for view in views:
        for function in view.run.functions:
            entries = [entry for entry in function.entries if entry.state is EntryState.COMPILED]
            count = sum(measure.of_entry(view, entry) if measure.of_entry else 1 for entry in entries)
            if count:
                code = function.code
                place = code.decorated or Place(code.filename, code.line, code.shown)
                ids = folded_ids(entry.key for entry in entries)
                text = f"{told}: {count:,} of them in {code.shown} ({ids})"
                if measure.name == "planned_peak_bytes":
                    text = f"{told}: {count:,} in {code.shown} ({ids})"
                most.append((count, over_budget(text, place, (UPDATE,), f"{measure.name} {code.qualname}")))
    most.sort(key=lambda pair: -pair[0])
    return [finding for _, finding in most[:_SHOWN]]
