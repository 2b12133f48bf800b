"""Which call did not fit which entry, and why: a matrix for each function that was compiled again."""

from __future__ import annotations

from typing import Any

from depyf.run.advice.registry import is_remedy, text_of
from depyf.run.causes.subjects import subject_of
from depyf.run.places.place import Place
from depyf.run.records import CompileKey, RecompileRecord
from depyf.views.report.dump_view import DumpView
from depyf.views.report.told_entries import ToldEntry, ToldFunction, told_functions, written


def recompilations_panel(view: DumpView, other: DumpView | None) -> dict[str, Any] | None:
    """Functions with their entries (columns) and the calls that made torch compile (rows); None where nothing
    recompiled."""
    found = [function for function in told_functions(view) if any(map(_reasons, function.entries))]
    if not found:
        return None
    return {"functions": [_matrix(function, view) for function in found]}


def _reasons(entry: ToldEntry) -> tuple[RecompileRecord, ...]:
    return entry.record.recompiles


_Guard = tuple[str, str, str, str]
"""Guard, place, what it wanted, what was there."""


def _guard(reason: RecompileRecord) -> _Guard:
    return reason.guard, written(reason.place), reason.expected, reason.actual


def _matrix(function: ToldFunction, view: DumpView) -> dict[str, Any]:
    """``entries`` are the columns; in a row ``cells`` has a number of ``guards`` for each column that was tried, else
    null; ``same`` says that the row repeats the one before it: the same guard on the same line, and the same end."""
    columns = dict.fromkeys(entry.key.text for entry in function.entries if entry.compiled)
    columns |= dict.fromkeys(r.entry for e in function.entries for r in _reasons(e) if r.entry)
    places = {entry: place for place, entry in enumerate(columns)}
    guards: dict[_Guard, int] = {}
    places_of: dict[str, Place | None] = {}
    rows: list[dict[str, Any]] = []
    before: tuple[object, ...] | None = None
    ways = _ways(view)
    for entry in function.entries:
        reasons = _reasons(entry)
        cells: list[int | None] = [None] * len(columns)
        for reason in reasons:
            if reason.entry in places:
                cells[places[reason.entry]] = guards.setdefault(_guard(reason), len(guards))
                places_of.setdefault(written(reason.place), reason.place)
        now = _alike(entry, reasons)
        row = {**entry.to_json(), "cells": cells, "same": bool(reasons) and now == before}
        if reasons:
            row["first"] = guards.get(_guard(reasons[0]))
            row["ways"], row["notes"] = ways.get(entry.key, ([], []))
        rows.append(row)
        before = now if reasons else None
    return {
        **function.to_json(),
        "entries": list(columns),
        "rows": rows,
        "guards": [
            {"guard": guard, "at": at, "line": view.line(places_of[at]), "expected": expected, "actual": actual}
            for guard, at, expected, actual in guards
        ],
    }


def _ways(view: DumpView) -> dict[CompileKey, tuple[list[str], list[str]]]:
    """Compilation -> the first ways out of what made it, as Fix first has them; where there is none, what there is to
    say of it instead, such as what it is needed for."""
    found: dict[CompileKey, tuple[list[str], list[str]]] = {}
    for cause in view.causes:
        ways = [way.text for way in cause.ways]
        notes = [] if ways else [text for use in cause.advice if not is_remedy(use) and (text := text_of(use))]
        for key in cause.caused or cause.entries:
            found.setdefault(key, (ways[:2], notes[:1]))
    return found


def _alike(entry: ToldEntry, reasons: tuple[RecompileRecord, ...]) -> tuple[object, ...] | None:
    if not reasons:
        return None
    return str(subject_of(reasons[0].guard)), written(reasons[0].place), bool(entry.record.failed)
