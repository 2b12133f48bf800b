"""The ranks of a distributed run beside each other."""

from __future__ import annotations

from typing import Any

from depyf.errors import DepyfError
from depyf.run.rank_groups import RankGroup, RankGroups, RankWait, read_rank_groups
from depyf.views.compare.difference_lines import first_change
from depyf.views.compare.rank_group_lines import apart_in_words, ranks_in_words, since_in_words, wait_in_words
from depyf.views.compare.stages import compare_ranks, ranks_in
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
    groups = _groups(view)
    return {
        "count": groups.count if groups is not None else len(ranks),
        "groups": [_group(group) for group in groups.groups] if groups is not None else [],
        "apart_by": apart_in_words(groups.apart) if groups is not None and groups.apart else "",
        "waits": [_wait(wait) for wait in groups.waits] if groups is not None else [],
        "ranks": [_summary(rank, part) for rank, part in ranks.items()],
        "functions": _rows(functions),
        "collectives": aligned(ranks),
        "apart": _apart(view),
    }


def _groups(view: DumpView) -> RankGroups | None:
    try:
        return read_rank_groups(view.folder)
    except DepyfError as error:
        view.missing.append(f"{error}.")
        return None


def _group(group: RankGroup) -> dict[str, Any]:
    return {
        "ranks": ranks_in_words(group.ranks),
        "count": len(group.ranks),
        "since": since_in_words(group.since) if group.since is not None else "",
        "shown": group.ranks[0] if group.shown else None,
    }


def _wait(wait: RankWait) -> dict[str, Any]:
    return {"id": wait.id, "last": wait.last, "seconds": wait.seconds, "text": wait_in_words(wait)}


def _summary(rank: int, view: DumpView) -> dict[str, Any]:
    run = view.run
    return {
        "rank": rank,
        "torch": run.torch_version,
        "finished": run.finished,
        "compilations": run.compilations,
        "breaks": len(run.breaks),
        "recompilations": run.recompilations,
        "python": run.ran_as_python,
        "failed": run.errors,
        "kernels": sum(file.kind == "kernel_source" for file in view.files),
        "seconds": round(run.seconds, 6) if run.seconds is not None else None,
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
        told = [[(e.key, e.state) for e in found[rank].entries] if rank in found else None for rank in functions]
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
                for (id, _), item in comparison.first_by_compile_id().items()
            ],
        }
        for rank, comparison in found
    ]
