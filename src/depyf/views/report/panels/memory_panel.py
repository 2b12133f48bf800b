"""What training keeps for the backward, and what Inductor's code allocates at once."""

from __future__ import annotations

from typing import Any

from depyf.run.files.layout import MEMORY_DATA
from depyf.views.report.dump_view import DumpView
from depyf.views.report.told_entries import told_functions


def memory_panel(view: DumpView, other: DumpView | None) -> dict[str, Any] | None:
    """The graphs of ``memory.json``, those that keep most first; None where nothing is known of memory."""
    page = view.json(MEMORY_DATA) if MEMORY_DATA in view.by_name else None
    graphs = page.get("graphs") if isinstance(page, dict) else None
    if not isinstance(graphs, list) or not graphs:
        return None
    titles: dict[tuple[Any, Any], str] = {
        (e.key.text, e.key.generation): f.title for f in told_functions(view) for e in f.entries
    }
    return {
        "graphs": [
            {
                **graph,
                "function": titles.get((graph.get("compile_id"), graph.get("generation")), graph.get("function", "")),
            }
            for graph in graphs
            if isinstance(graph, dict)
        ]
    }
