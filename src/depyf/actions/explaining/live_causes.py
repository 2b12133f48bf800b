"""What to fix first in what a report of ``depyf.explain`` tells: causes, as those of a dump.

Input: a ``Report``.  Output: ranked causes, and the seconds of each compilation.  The caches and torch's memory of its
compilations know less than a recording: of a break only the line at which the function goes on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from depyf.run.advice.for_breaks import BreakFacts, for_break, for_failure
from depyf.run.causes.cause import Cause
from depyf.run.causes.collect import causes_of
from depyf.run.installed_files import Owner
from depyf.run.records import BreakRecord, CodeRecord, CompileKey, EntryRecord, FunctionRecord, Place, TransformedRecord
from depyf.run.run import Run
from depyf.safety.source_lines import source_line
from depyf.sources.live.events.break_stack import StackFrame
from depyf.sources.live.events.graph_breaks import asked_by, uses_of_value
from depyf.sources.live.notebook_cells import cell_names
from depyf.views.pages.sections.fix_first import ON_TERMINAL, TERMINAL, fix_first, left_out

if TYPE_CHECKING:
    from depyf.actions.explaining.explanation import Report
    from depyf.actions.explaining.reported_breaks import ReportedBreak


def report_causes(report: Report) -> tuple[Cause, ...]:
    """The causes in the function, what is compiled inside it, and the rests of both."""
    functions: list[FunctionRecord] = []
    _collect(report, None, functions)
    cells = cell_names([function.code.filename for function in functions])
    return causes_of(Run("", "", tuple(functions), (), (), cells=cells))


def fix_first_lines(report: Report) -> list[str]:
    """The first causes, with seconds, as lines for a terminal; [] where there is none."""
    causes = report_causes(report)
    seconds = {CompileKey(0, e.compile_id): e.seconds for part in report.all() for e in part.entries if e.seconds}
    lines = fix_first(causes, ON_TERMINAL, TERMINAL, seconds)
    left = left_out(causes, ON_TERMINAL)
    return [*lines, f"and {left} more that {'costs' if left == 1 else 'cost'} less"] if left > 0 else lines


def _collect(report: Report, resume_of: tuple[int, str] | None, found: list[FunctionRecord]) -> None:
    number = report.entries[0].compile_id.rpartition("/")[0] if report.entries else f"none {len(found)}"
    function = (0, number)
    rests = tuple(f"{rest.function}:{rest.line}" for rest in report.resumes)
    transformed = TransformedRecord("", True, "", (), (), rests)
    breaks = tuple(_record(item, report, skipped=False) for item in report.breaks)
    entries = [
        EntryRecord(
            CompileKey(0, entry.compile_id), transformed, entry.guards, "live",
            recompiles=entry.unfit, breaks=breaks, operations=entry.operations,
        )
        for entry in report.entries
    ]  # fmt: skip
    if report.skipped and not report.entries and resume_of is None:
        entries += [_failed(item) for item in report.skipped if item.raised is not None]
        given_up = tuple(
            _record(item, report, skipped=True) for item in report.skipped if item.torch and not item.raised
        )
        if given_up:
            entries.append(EntryRecord(CompileKey(0, f"{number}/0"), None, (), "none", given_up, failed="given up"))
    name = f"{report.function}:{report.line}"
    code = CodeRecord(report.function, report.function, report.filename, report.line, (), (), (), None, None, ())
    found.append(FunctionRecord(function, code, tuple(entries), resume_of, (name,) if resume_of is not None else ()))
    for rest in report.resumes:
        _collect(rest, function, found)
    for inner in report.inside:
        _collect(inner, None, found)


def _failed(item: ReportedBreak) -> EntryRecord:
    """A compilation that ended with an error of torch's."""
    kind = item.torch.partition(":")[0]
    return EntryRecord(
        CompileKey(0, item.compile_id), None, (), "none", failed=kind, raised=True, error=item.cause,
        error_at=item.raised, advice=for_failure(item.torch),
    )  # fmt: skip


def _record(item: ReportedBreak, report: Report, skipped: bool) -> BreakRecord:
    line = item.line if item.line is not None else report.line
    place = Place(report.filename, line, report.function, source_line(report.filename, line).strip())
    told, _, explanation = item.torch.partition(": ")
    reason = item.reason or told
    facts = BreakFacts(
        reason, explanation or item.cause, item.hints, report.filename, Owner.PROGRAM, place.text, item.torch,
        uses=lambda: uses_of_value([StackFrame(place)]),
    )  # fmt: skip
    return BreakRecord(
        text=item.torch, place=place, reason=reason or item.cause, cause=item.cause, explanation=explanation,
        hints=item.hints, code="", skipped=skipped, asked=asked_by(reason, explanation, ""),
        advice=for_break(facts, item.in_loop),
    )  # fmt: skip
