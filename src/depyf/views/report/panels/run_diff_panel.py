"""What changed between two runs: ``depyf report BEFORE AFTER``."""

from __future__ import annotations

from typing import Any

from depyf.errors import DepyfError
from depyf.run.causes.cause import Cause
from depyf.run.causes.stored import causes_in
from depyf.run.records import FunctionRecord
from depyf.views.compare.stages import DumpComparison, compare, load
from depyf.views.report.dump_view import DumpView
from depyf.views.report.told_entries import told_functions

_LONGEST = 600
"""Lines of one difference that the page holds."""


def run_diff_panel(view: DumpView, other: DumpView | None) -> dict[str, Any] | None:
    """Causes that are gone or new, events, stages and files; of runs with ranks one comparison a rank.  None for one dump."""
    if other is None:
        return None
    pairs: list[tuple[int | None, DumpView, DumpView]] = [(None, view, other)]
    if view.ranks and other.ranks:
        pairs = [(rank, view.ranks[rank], other.ranks[rank]) for rank in view.ranks if rank in other.ranks]
    return {
        "first": _side(view),
        "second": _side(other),
        "comparisons": [{"rank": rank, **_compared(one, two)} for rank, one, two in pairs],
    }


def _side(view: DumpView) -> dict[str, Any]:
    return {
        "name": view.folder.absolute().name, "folder": str(view.folder), "torch": view.page.get("torch", ""),
        "python": view.page.get("python", ""), "ranks": list(view.ranks),
    }  # fmt: skip


def _compared(one: DumpView, two: DumpView) -> dict[str, Any]:
    try:
        found = compare(load(one.folder), load(two.folder))
    except DepyfError as error:
        return {"problem": str(error)}
    return {
        "equal": found.equal,
        "events": found.events,
        "causes": _causes(one, two),
        "functions": _functions(one, two, found),
        "stages": [
            dict(zip(("stage", "same", "alike", "differ", "only_first", "only_second"), (stage, *found.counts(stage))))
            for stage in found.stages
        ],
        "parted": [
            {"id": id, "stage": item.stage, "file": item.file, "where": item.where}
            for id, item in found.first_by_compile_id().items()
        ],
        "files": [
            {
                "file": item.file, "stage": item.stage, "id": item.compile_id, "where": item.where, "added": item.added,
                "removed": item.removed, "diff": [*item.diff[2:_LONGEST]], "more": max(0, len(item.diff) - _LONGEST),
            }
            for item in found.differences
        ],
    }  # fmt: skip


def _causes(one: DumpView, two: DumpView) -> dict[str, list[dict[str, Any]]]:
    """Those that only one of the two has: what was fixed, and what is new."""
    sides = [{_identity(cause): cause for cause in causes_in(view.page)} for view in (one, two)]
    gone = [cause for key, cause in sides[0].items() if key not in sides[1]]
    new = [cause for key, cause in sides[1].items() if key not in sides[0]]
    kept = [cause for key, cause in sides[1].items() if key in sides[0]]
    return {"gone": [*map(_cause, gone)], "new": [*map(_cause, new)], "kept": [*map(_cause, kept)]}


def _identity(cause: Cause) -> tuple[str, str, str, str]:
    """Lines move between runs, their text and the function do not."""
    return cause.kind.value, cause.function, cause.place.text if cause.place is not None else "", cause.text


def _cause(cause: Cause) -> dict[str, Any]:
    place = cause.place
    return {
        "kind": cause.kind.value, "text": cause.text, "at": f"{place.filename}:{place.line}" if place is not None else "",
        "line": place.text if place is not None else "",
    }  # fmt: skip


def _functions(one: DumpView, two: DumpView, found: DumpComparison) -> list[dict[str, Any]]:
    """Each function of the two with its compilations and seconds on both sides; one that a side lacks has null there."""
    sides = [told_functions(view) for view in (one, two)]
    rows = []
    pairs = [(m.record if m else None, o.record if o else None) for m, o in found.pairs.pairs] if found.pairs else []
    for mine, theirs in pairs:
        cells: list[dict[str, Any] | None] = []
        title, at = "", ""
        for record, known in zip((mine, theirs), sides):
            function = next((f for f in known if record is not None and _is(f.item, record)), None)
            if function is None:
                cells.append(None)
                continue
            title, at = function.title, function.at
            spent = [entry.seconds for entry in function.entries if entry.seconds is not None]
            cells.append({
                "entries": [entry.to_json() for entry in function.entries], "seconds": round(sum(spent), 6) if spent else None,
            })  # fmt: skip
        if title:
            rows.append({"name": title, "at": at, "cells": cells})
    return rows


def _is(item: dict[str, Any], record: FunctionRecord) -> bool:
    """Whether the manifest's ``item`` is this function."""
    first = [(entry.get("generation", 0), entry["compile_id"]) for entry in item["entries"][:1]]
    return first == [(entry.key.generation, entry.key.text) for entry in record.entries[:1]] and (
        item["function"], item["from"]
    ) == (record.code.qualname, f"{record.code.filename}:{record.code.line}")  # fmt: skip
