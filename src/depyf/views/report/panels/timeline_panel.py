"""When torch compiled what, phase by phase, and what its caches had."""

from __future__ import annotations

import math
from typing import Any

from depyf.views.report.dump_view import DumpView
from depyf.views.report.told_entries import told_functions
from depyf.views.report.waterfall import Span, spans_of


def timeline_panel(view: DumpView, other: DumpView | None) -> dict[str, Any] | None:
    """A row for each compilation, in the order in which they began; None for a dump without times."""
    spans = spans_of(view)
    rows: list[tuple[tuple[bool, float], dict[str, Any]]] = []
    names: dict[str, int] = {}
    known = {entry.key: (function, entry) for function in told_functions(view) for entry in function.entries}
    for key, own in spans.items():
        function, entry = known.get(key, (None, None))
        main = [span for span in own if span.thread == 0]
        caches = entry.record.caches if entry is not None else ()
        start = min(span.start for span in own)
        rows.append(((entry is None, start), {
            **(entry.to_json() if entry is not None else {"id": ""}),
            "function": function.title if function is not None else "",
            "start": start,
            "end": max(span.start + span.seconds for span in own),
            "spent": round(sum(span.seconds for span in main if span.depth == 0), 6),
            "caches": [[cache.cache, cache.status] for cache in caches],
            "spans": [_packed(span, names) for span in own],
        }))  # fmt: skip
    if not rows:
        return None
    rows.sort(key=lambda row: row[0])
    return {
        "names": list(names),
        "rows": [row for _, row in rows],
        "began": view.run.began if math.isfinite(view.run.began) and view.run.began else None,
    }


def _packed(span: Span, names: dict[str, int]) -> list[Any]:
    """[number of its name, start, seconds, depth, thread]."""
    return [names.setdefault(span.name, len(names)), span.start, span.seconds, span.depth, span.thread]
