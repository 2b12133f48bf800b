"""Which call did not fit which entry, and why: a matrix for each function that was compiled again."""

from __future__ import annotations

from typing import Any

from depyf.run.causes.subjects import subject_of
from depyf.views.report.dump_view import DumpView
from depyf.views.report.told_entries import ToldEntry, ToldFunction, told_functions, told_lines


def recompilations_panel(view: DumpView, other: DumpView | None) -> dict[str, Any] | None:
    """Functions with their entries (columns) and the calls that made torch compile (rows); None where nothing recompiled."""
    found = [function for function in told_functions(view) if any(map(_reasons, function.entries))]
    if not found:
        return None
    lines = told_lines(view)
    return {"functions": [_matrix(function, lines) for function in found]}


def _reasons(entry: ToldEntry) -> list[dict[str, Any]]:
    return list(entry.item.get("recompiled_because", ()))


def _matrix(function: ToldFunction, lines: dict[str, str]) -> dict[str, Any]:
    """``entries`` are the columns; in a row ``cells`` has a number of ``guards`` for each column that was tried, else null;
    ``same`` says that the row repeats the one before it: the same guard on the same line, and the same end."""
    columns = dict.fromkeys(entry.key.text for entry in function.entries if entry.item.get("compiled"))
    columns |= dict.fromkeys(r["entry"] for e in function.entries for r in _reasons(e) if r["entry"])
    places = {entry: place for place, entry in enumerate(columns)}
    guards: dict[tuple[str, ...], int] = {}
    rows: list[dict[str, Any]] = []
    before: tuple[object, ...] | None = None
    for entry in function.entries:
        reasons = _reasons(entry)
        cells: list[int | None] = [None] * len(columns)
        for reason in reasons:
            told = tuple(str(reason.get(name) or "") for name in ("guard", "at", "expected", "actual"))
            if reason["entry"] in places:
                cells[places[reason["entry"]]] = guards.setdefault(told, len(guards))
        now = _alike(entry, reasons)
        row = {**entry.to_json(), "cells": cells, "same": bool(reasons) and now == before}
        if reasons:
            row["first"] = guards.get(
                tuple(str(reasons[0].get(n) or "") for n in ("guard", "at", "expected", "actual"))
            )
            row["ways"] = [use["text"] for use in reasons[0].get("advice", ()) if use.get("text")][:2]
        rows.append(row)
        before = now if reasons else None
    return {
        **function.to_json(),
        "entries": list(columns),
        "rows": rows,
        "guards": [
            {"guard": guard, "at": at, "line": lines.get(at, ""), "expected": expected, "actual": actual}
            for guard, at, expected, actual in guards
        ],
    }


def _alike(entry: ToldEntry, reasons: list[dict[str, Any]]) -> tuple[object, ...] | None:
    if not reasons:
        return None
    nearest = reasons[0]
    return str(subject_of(nearest["guard"])), nearest.get("at"), bool(entry.item.get("failed"))
