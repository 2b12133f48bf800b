"""Which size of which input may be what, and the line that decided."""

from __future__ import annotations

from typing import Any

from depyf.run.files.layout import SHAPES_DATA
from depyf.views.report.dump_view import DumpView
from depyf.views.report.told_entries import told_functions


def shapes_panel(view: DumpView, other: DumpView | None) -> dict[str, Any] | None:
    """The tables of ``shapes.json``; None where no size is dynamic."""
    page = view.json(SHAPES_DATA) if SHAPES_DATA in view.by_name else None
    functions = page.get("functions") if isinstance(page, dict) else None
    if not isinstance(functions, list) or not functions:
        return None
    titles = {function.id: function.title for function in told_functions(view)}
    return {
        "functions": [
            {**function, "function": titles.get(_id(function), function.get("function", ""))}
            for function in functions
            if isinstance(function, dict)
        ]
    }


def _id(function: dict[str, Any]) -> tuple[Any, Any]:
    frame = function.get("frame")
    return (frame.get("generation"), frame.get("compile_id")) if isinstance(frame, dict) else (None, None)
