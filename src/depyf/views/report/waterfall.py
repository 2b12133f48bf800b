"""The phases of each compilation as spans that stand in one another.

Input: a ``DumpView`` with ``timings.json``, which anybody may have written.  Output: ``Span`` lists by compile id, as in file names;
what is no phase is left out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from depyf.views.report.dump_view import DumpView

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


def spans_of(view: DumpView) -> dict[str, list[Span]]:
    """Compile id, as in file names -> its spans, in the order in which they began; only those with any."""
    phases = view.timings.get("phases")
    found: dict[str, list[Span]] = {}
    for slug, items in phases.items() if isinstance(phases, dict) else ():
        read = sorted(span for item in (items if isinstance(items, list) else ()) if (span := _read(item)) is not None)
        if read:
            found[slug] = _nested(read)
    return found


_Read = tuple[int, float, float, str]
"""Thread, start, minus the end (an outer phase before the inner ones that begin with it), name."""


def _read(item: Any) -> _Read | None:
    if not isinstance(item, dict):
        return None
    name, start, seconds, thread = (item.get(key, 0) for key in ("name", "start", "seconds", "thread"))
    numbers = all(isinstance(value, (int, float)) and math.isfinite(value) for value in (start, seconds, thread))
    if not isinstance(name, str) or not numbers or seconds < 0:
        return None
    return int(thread), float(start), -float(start + seconds), name


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
