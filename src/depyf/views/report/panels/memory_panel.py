"""What training keeps for the backward, and what Inductor's code allocates at once."""

from __future__ import annotations

from typing import Any

from depyf.run.files.layout import MEMORY_DATA
from depyf.run.memory.memory_file import MemoryFile
from depyf.run.store.codec import plain
from depyf.views.report.dump_view import DumpView
from depyf.views.report.told_entries import titles


def memory_panel(view: DumpView, other: DumpView | None) -> dict[str, Any] | None:
    """The graphs of ``memory.json``, those that keep most first; None where nothing is known of memory."""
    page = view.record(MemoryFile, MEMORY_DATA)
    if page is None or not page.graphs:
        return None
    names = titles(view)
    return {"graphs": [{**plain(graph), "function": names.get(graph.key, graph.function)} for graph in page.graphs]}
