"""What compiled code costs, by line: what tracing took, and the memory that its kernels move."""

from __future__ import annotations

from typing import Any

from depyf.run.bill.lowering import CostKind
from depyf.run.bill.traced_calls import traced_lines
from depyf.run.bill.traffic import Traffic, TrafficCost, counted_graphs, traffic_of
from depyf.run.compile_stages import WRAPPER
from depyf.run.files.layout import graph_file
from depyf.run.global_names import in_words
from depyf.run.places.place import Place
from depyf.views.pages.bill.compile_time import owner_of, tracing_seconds
from depyf.views.report.dump_view import DumpView
from depyf.views.report.told_entries import titles

_MOST_LINES = 200
_MOST_TREES = 12


def bill_panel(view: DumpView, other: DumpView | None) -> dict[str, Any] | None:
    """The costs of each kind, the largest first; None where nothing is known of them."""
    traffic = traffic_of(view.run)
    traced = _traced(view)
    if not traffic.graphs and traced is None:
        return None
    return {"traffic": _traffic(traffic, view) if traffic.graphs else None, "traced": traced}


def _traced(view: DumpView) -> dict[str, Any] | None:
    """What tracing took, by line, and the calls of each compilation for a flame graph."""
    trees = [(times.key, times.traced) for times in view.run.times if times.traced]
    if not trees:
        return None
    titles_of = titles(view)
    return {
        "seconds": round(tracing_seconds(view.run), 6),
        "lines": [
            {
                "line": {"at": f"{line.file}:{line.line}", "text": view.line(Place(line.file, line.line))},
                "called": line.called,
                "calls": line.calls,
                "seconds": line.seconds,
                "owner": owner_of(line.file).value,
            }
            for line in traced_lines(tree for _, tree in trees)[:_MOST_LINES]
        ],
        "trees": [
            {
                "id": key.text,
                **({"generation": key.generation} if key.generation else {}),
                "function": titles_of.get(key, ""),
                "calls": [
                    [call.depth, in_words(call.function), f"{call.file}:{call.line}", call.at, call.calls, call.seconds]
                    for call in tree
                ],
            }
            for key, tree in sorted(trees, key=lambda pair: -pair[1][0].seconds)[:_MOST_TREES]
        ],
    }


def _traffic(traffic: Traffic, view: DumpView) -> dict[str, Any]:
    counted = {graph_file(graph) for graph, _ in counted_graphs(view.run)}
    wrappers = sum(graph.stage == WRAPPER for graph in view.run.graphs)
    return {
        "bytes": traffic.bytes,
        "loops": traffic.kernels,
        "kernels": sum(file.kind == "kernel_source" and file.origin in counted for file in view.files),
        "largest": traffic.graphs + traffic.cached < wrappers,
        "library": traffic.library,
        "cached": traffic.cached,
        "costs": {kind.value: [_cost(cost) for cost in traffic.of(kind)] for kind in CostKind if traffic.of(kind)},
        "reasons": [
            {"words": words, "pairs": times, "bytes": size} for words, (times, size) in traffic.reasons().items()
        ],
    }


def _cost(cost: TrafficCost) -> dict[str, Any]:
    return {
        "bytes": cost.bytes,
        "times": cost.times,
        "why": cost.words,
        "operators": list(cost.operators),
        "line": _line(cost.line),
        "other": _line(cost.other),
        "other_operators": list(cost.other_operators),
        "entries": [
            {"id": key.text, **({"generation": key.generation} if key.generation else {})} for key in cost.keys
        ],
    }


def _line(line: Place | None) -> dict[str, str] | None:
    return None if line is None else {"at": f"{line.filename}:{line.line}", "text": line.text}
