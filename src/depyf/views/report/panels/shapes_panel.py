"""Which size of which input may be what, and the line that decided."""

from __future__ import annotations

from typing import Any

from depyf.safety.guarded import Door
from depyf.views.pages.run_data import RunFindings, shape_rows
from depyf.views.report.dump_view import DumpView
from depyf.views.report.told_entries import told_functions


def shapes_panel(view: DumpView, other: DumpView | None) -> dict[str, Any] | None:
    """A table for each function with sizes that are no constants; None where there is none."""
    found = RunFindings(view.run, view.line)
    names = {function.id: function.title for function in told_functions(view)}
    rows: list[dict[str, Any]] = []
    with Door("The sizes cannot be told", view.missing.append):
        rows = [shape_rows(function, table, names[function.function], found) for function, table in found.shapes]
    return {"functions": rows} if rows else None
