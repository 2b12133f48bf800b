"""The ranks of a distributed run beside each other."""

from __future__ import annotations

from typing import Any

from depyf.errors import DepyfError
from depyf.views.compare.stages import compare_ranks, first_change, ranks_in
from depyf.views.report.aligned_collectives import aligned
from depyf.views.report.dump_view import DumpView
from depyf.views.report.told_entries import ToldFunction, told_functions

_MOST_EVENTS = 12


def ranks_panel(view: DumpView, other: DumpView | None) -> dict[str, Any] | None:
    """A column for each rank; None for the dump of one process."""
    ranks = view.ranks
    if not ranks:
        return None
    functions = {rank: told_functions(part) for rank, part in ranks.items()}
    return {
        "ranks": [_summary(rank, part, functions[rank]) for rank, part in ranks.items()],
        "functions": _rows(functions),
        "collectives": aligned(ranks),
        "apart": _apart(view),
    }


def _summary(rank: int, view: DumpView, functions: list[ToldFunction]) -> dict[str, Any]:
    entries = [entry for function in functions for entry in function.entries]
    known = [entry.seconds for entry in entries if entry.seconds is not None]
    return {
        "rank": rank,
        "torch": view.page.get("torch", ""),
        "finished": bool(view.page),
        "compilations": sum(bool(entry.item.get("compiled")) for entry in entries),
        "breaks": sum(len(entry.item.get("graph_breaks", ())) for entry in entries),
        "recompilations": sum(bool(entry.item.get("recompiled_because")) for entry in entries),
        "python": sum(entry.state == "python" for entry in entries),
        "failed": sum(entry.state == "failed" for entry in entries),
        "kernels": sum(file.kind == "kernel_source" for file in view.files),
        "seconds": round(sum(known), 6) if known else None,
    }


def _rows(functions: dict[int, list[ToldFunction]]) -> list[dict[str, Any]]:
    """Functions by name and place; ``cells`` has the entries on each rank, null where a rank lacks the function."""
    keys: dict[tuple[str, str], dict[int, ToldFunction]] = {}
    for rank, own in functions.items():
        for function in own:
            keys.setdefault((function.title, function.at), {}).setdefault(rank, function)
    rows = []
    for (title, at), found in keys.items():
        cells = [[e.to_json() for e in found[rank].entries] if rank in found else None for rank in functions]
        told = [[(e["id"], e["state"]) for e in cell] if cell is not None else None for cell in cells]
        rows.append({"name": title, "at": at, "cells": cells, "differs": any(one != told[0] for one in told)})
    return rows


def _apart(view: DumpView) -> list[dict[str, Any]]:
    """For each rank but the lowest what it did differently, and the first file of each compilation that differs."""
    try:
        dumps, _ = ranks_in(view.folder)
        found = compare_ranks(dumps, view.folder)
    except DepyfError as error:
        return [{"rank": None, "equal": False, "events": [str(error)], "parted": []}]
    return [
        {
            "rank": rank,
            "equal": comparison.equal,
            "events": comparison.events[:_MOST_EVENTS],
            "parted": [
                {"id": id, "stage": item.stage, "file": item.file, "where": item.where, "change": first_change(item)}
                for id, item in comparison.first_by_compile_id().items()
            ],
        }
        for rank, comparison in found
    ]
