"""When torch compiled what, phase by phase, and what its caches had."""

from __future__ import annotations

from typing import Any

from depyf.views.report.dump_view import DumpView
from depyf.views.report.told_entries import told_functions
from depyf.views.report.waterfall import Span, spans_of


def timeline_panel(view: DumpView, other: DumpView | None) -> dict[str, Any] | None:
    """A row for each compilation, in the order in which they began; None for a dump without times."""
    spans = spans_of(view)
    rows = []
    names: dict[str, int] = {}
    known = {entry.key.slug: (function, entry) for function in told_functions(view) for entry in function.entries}
    for slug, own in spans.items():
        function, entry = known.get(slug, (None, None))
        main = [span for span in own if span.thread == 0]
        caches = entry.item.get("caches", ()) if entry is not None else ()
        rows.append({
            **(entry.to_json() if entry is not None else {"id": ""}),
            "function": function.title if function is not None else "",
            "start": min(span.start for span in own),
            "end": max(span.start + span.seconds for span in own),
            "spent": round(sum(span.seconds for span in main if span.depth == 0), 6),
            "caches": [[cache.get("cache", ""), cache.get("status", "")] for cache in caches],
            "spans": [_packed(span, names) for span in own],
        })  # fmt: skip
    if not rows:
        return None
    rows.sort(key=lambda row: (row["id"] == "", row["start"]))
    return {"names": list(names), "rows": rows, "began": view.timings.get("began")}


def _packed(span: Span, names: dict[str, int]) -> list[Any]:
    """[number of its name, start, seconds, depth, thread]."""
    return [names.setdefault(span.name, len(names)), span.start, span.seconds, span.depth, span.thread]
