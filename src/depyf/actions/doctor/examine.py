"""``depyf.doctor.examine``: what ``depyf doctor`` says of a program, as an object, for a notebook and for programs."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from depyf.actions.doctor.doctor_report import causes_lines, document, headline, tries_lines
from depyf.actions.doctor.trial import DoctorProgram, Measured, run_once, why_no_program
from depyf.actions.doctor.tries import Tries, try_ways
from depyf.errors import DepyfError
from depyf.run.advice.registry import is_remedy, text_of
from depyf.run.causes.cause import Cause
from depyf.run.causes.folding import counted
from depyf.run.observations.observation import Observation
from depyf.views.pages import notebook
from depyf.views.pages.notebook import Markup, Part, chip, dim, fact, folded, joined, line
from depyf.views.pages.sections.fix_first import cost_in_words
from depyf.views.pages.sections.totals import words_of

_OPEN = 3
"""So many causes are open at first."""


@dataclass(frozen=True, slots=True)
class DoctorReport:
    """One run of a program under ``depyf doctor``: ``str()`` is what the command prints."""

    program: str
    measured: Measured
    tries: Tries | None = None
    """The ways out that were tried; None where none was to be."""

    @property
    def causes(self) -> tuple[Cause, ...]:
        """What to fix, the most costly first."""
        return self.measured.causes

    def __str__(self) -> str:
        problem = [self.measured.problem] if self.measured.problem and self.measured.recorded else []
        lines = [headline(self.program, self.measured), *problem, "", *causes_lines(self.measured)]
        tried = [] if self.tries is None else ["", *tries_lines(self.measured, self.tries)]
        return "\n".join([*lines, *tried]).rstrip()

    def __repr__(self) -> str:
        return f"<depyf doctor of {headline(self.program, self.measured)}; {counted(len(self.causes), 'cause')} to fix>"

    def _repr_html_(self) -> str:
        return doctor_html(self)

    def to_json(self) -> dict[str, Any]:
        """As ``depyf doctor --json``."""
        return document(self.program, self.measured, self.tries, None)


def examine(
    program: str, *arguments: str, module: bool = False, timeout: float | None = None, most: int = 0
) -> DoctorReport:
    """Run a script (or a module) with ``arguments`` in a separate process, and return what to fix first.

    What it prints is dropped.  ``timeout`` in seconds for each run, by default none.  ``most``: run it again, for at
    most so many ways out that need no edit, and measure what each changes (as ``depyf doctor --try``).  DepyfError
    where there is no such script or it cannot be started.
    """
    missing = "" if module else why_no_program(program)
    if missing:
        raise DepyfError(missing)
    work = Path(tempfile.mkdtemp(prefix="depyf-doctor-"))
    target = DoctorProgram(program, arguments, module)
    try:
        measured = run_once(
            target,
            (),
            work / "run",
            work / "dump",
            compare=most > 0,
            shown=False,
            limit=timeout,
        )
        tried = most > 0 and not measured.interrupted and measured.seconds is not None
        tries = try_ways(target, measured, work / "dump", work, most=most, timeout=timeout) if tried else None
    finally:
        shutil.rmtree(work, ignore_errors=True)
    if measured.not_started:
        raise DepyfError(measured.problem)
    if measured.interrupted or (tries is not None and tries.interrupted):
        raise KeyboardInterrupt
    return DoctorReport(program, measured, tries)


def doctor_html(report: DoctorReport) -> Markup:
    """The causes, the most costly first: each with its line, what it costs and the way out."""
    measured = report.measured
    totals, words = measured.totals, words_of(measured.totals)
    facts = [fact(words.compilations), fact(words.breaks, "warn" if totals.breaks else "")]
    facts += [fact(f"{totals.ran_as_python} ran as Python", "warn")] if totals.ran_as_python else []
    facts += [fact(counted(totals.errors, "error"), "bad")] if totals.errors else []
    leading = [one for one in measured.observations if one.leads]
    others = [one for one in measured.observations if not one.leads]
    causes = [_observation(number, one) for number, one in enumerate(leading, 1)]
    causes += [_cause(n, cause, n <= _OPEN) for n, cause in enumerate(report.causes, len(causes) + 1)]
    causes += [_observation(number, one) for number, one in enumerate(others, len(causes) + 1)]
    if not causes:
        causes = [line(text, kind="good") for text in causes_lines(measured)]
    problem = [line(measured.problem, kind="bad")] if measured.problem else []
    if report.tries is not None:
        causes.append(notebook.element("pre", "\n".join(tries_lines(measured, report.tries))))
    causes += [line(measured.checked)] if measured.checked else []
    told = line(dim(headline(report.program, measured)))
    return notebook.report(f"depyf doctor {report.program}", "", told, *problem, *causes, chips=facts)


def _cause(number: int, cause: Cause, opened: bool) -> Markup:
    place = cause.place
    module = joined([dim(" in "), notebook.code(cause.module)]) if cause.module else ""
    head = joined([chip(str(number), "warn"), notebook.prose(cause.text), module])
    source = notebook.source(f"{place.filename}:{place.line}", place.text) if place is not None else ""
    ways = [_way(f"{way.text} ({way.predicted})" if way.predicted else way.text, True) for way in cause.ways]
    ways += [_way(text, False) for use in cause.advice if not is_remedy(use) and (text := text_of(use))]
    costs = cost_in_words(cause)
    return folded(head, source, line(dim(costs)) if costs else "", *ways, opened=opened)


def _observation(number: int, observation: Observation) -> Markup:
    place = observation.place
    head = joined([chip(str(number), "warn"), notebook.prose(observation.text)])
    source = notebook.source(f"{place.filename}:{place.line}", place.text) if place is not None else ""
    ways = [_way(text, True) for text in observation.ways]
    details = map(line, observation.details)
    return folded(head, source, *details, line(dim(observation.cost)) if observation.cost else "", *ways, opened=True)


def _way(text: str, remedy: bool) -> Part:
    told = notebook.prose(text)
    return line(chip("way out", "good"), told) if remedy else line(told)
