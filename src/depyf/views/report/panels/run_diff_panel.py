"""What changed between two runs: ``depyf report BEFORE AFTER``."""

from __future__ import annotations

from typing import Any

from depyf.errors import DepyfError
from depyf.run.causes.cause import Cause
from depyf.views.compare.stages import DumpComparison, compare, load
from depyf.views.report.dump_view import DumpView
from depyf.views.report.told_entries import told_functions, written

_LONGEST = 600
"""Lines of one difference that the page holds."""


def run_diff_panel(view: DumpView, other: DumpView | None) -> dict[str, Any] | None:
    """Causes that are gone or new, events, stages and files; of runs with ranks one comparison a rank.  None for one
    dump."""
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
        "name": view.folder.absolute().name, "folder": str(view.folder), "torch": view.run.torch_version,
        "python": view.run.python_version, "ranks": list(view.ranks),
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
            for (id, _), item in found.first_by_compile_id().items()
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
    """The causes that only one of two dumps has: what was fixed, and what is new."""
    before, after = ({_identity(cause, view): _cause(cause, view) for cause in view.causes} for view in (one, two))
    return {
        "gone": [cause for key, cause in before.items() if key not in after],
        "new": [cause for key, cause in after.items() if key not in before],
        "kept": [cause for key, cause in after.items() if key in before],
    }


def _identity(cause: Cause, view: DumpView) -> tuple[str, str, str, str]:
    """Lines move between runs, their text and the function do not."""
    return cause.kind.value, cause.function, view.line(cause.place), cause.text


def _cause(cause: Cause, view: DumpView) -> dict[str, Any]:
    return {
        "kind": cause.kind.value, "text": cause.text, "at": written(cause.place), "line": view.line(cause.place),
    }  # fmt: skip


def _functions(one: DumpView, two: DumpView, found: DumpComparison) -> list[dict[str, Any]]:
    """Each function of the two with its compilations and seconds on both sides; one that a side lacks has null
    there."""
    sides = [{function.id: function for function in told_functions(view)} for view in (one, two)]
    rows = []
    for pair in found.pairs.pairs if found.pairs else ():
        cells: list[dict[str, Any] | None] = []
        title, at = "", ""
        for met, known in zip(pair, sides):
            function = known.get(met.id) if met is not None else None
            if function is None:
                cells.append(None)
                continue
            title, at = function.title, function.at
            cells.append({"entries": [entry.to_json() for entry in function.entries], "seconds": function.seconds})
        if title:
            rows.append({"name": title, "at": at, "cells": cells})
    return rows
