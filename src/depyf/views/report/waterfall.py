"""The phases of each compilation as spans that stand in one another.

Input: a ``DumpView``, whose times anybody may have written.  Output: ``Span`` lists by compilation; what is no stretch
of time is left out.
"""

from __future__ import annotations

from dataclasses import dataclass

from depyf.run.records import CompileKey
from depyf.views.report.dump_view import DumpView

_LONGEST = 1e9
"""Seconds: what says more is damaged."""
_SLACK = 2e-6
"""Seconds: times are rounded to a microsecond."""


@dataclass(frozen=True, slots=True)
class Span:
    """A phase; ``depth`` counts the phases of its compilation and thread that it stands in."""

    name: str
    start: float
    seconds: float
    depth: int
    thread: int


def spans_of(view: DumpView) -> dict[CompileKey, list[Span]]:
    """Compilation -> its spans, in the order in which they began; only those with any."""
    found: dict[CompileKey, list[Span]] = {}
    for times in sorted(view.run.times, key=lambda times: times.key.order):
        read = sorted(
            (phase.thread, phase.start, -(phase.start + phase.seconds), phase.name)
            for phase in times.phases
            if 0 <= phase.seconds <= _LONGEST and abs(phase.start) <= _LONGEST
        )
        if read:
            found[times.key] = _nested(read)
    return found


_Read = tuple[int, float, float, str]
"""Thread, start, minus the end (an outer phase before the inner ones that begin with it), name."""


def _nested(read: list[_Read]) -> list[Span]:
    spans: list[Span] = []
    open_until: list[float] = []
    before = -1
    for thread, start, end, name in read:
        if thread != before:
            before, open_until = thread, []
        while open_until and open_until[-1] < -end - _SLACK:
            open_until.pop()
        spans.append(Span(name, start, round(-end - start, 6), len(open_until), thread))
        open_until.append(-end)
    return sorted(spans, key=lambda span: (span.start, span.thread, span.depth))
