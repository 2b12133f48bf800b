"""The graphs of a dump: which there are, and the modules that their lines belong to.

The picture is drawn by the page, from the text of the file, when it is asked for.
"""

from __future__ import annotations

from typing import Any

from depyf.run.compile_stages import CAPTURED
from depyf.run.files.file_record import FileRecord
from depyf.run.graphs.layer_index import LayerIndex
from depyf.run.graphs.printed_lines import printed_lines
from depyf.run.graphs.program_comments import RUNS
from depyf.views.report.dump_view import DumpView
from depyf.views.report.links.chain_links import chains_of
from depyf.views.report.links.graph_lines import graph_lines
from depyf.views.report.links.later_layers import later_layers
from depyf.views.report.told_entries import titles

_MOST_LINES = 1 << 20


def graphs_panel(view: DumpView, other: DumpView | None) -> dict[str, Any] | None:
    """Each graph with its size, the captured ones first; None where no graph was captured."""
    names = titles(view)
    graphs = []
    for file in sorted((file for file in view.files if file.kind == "graph" and file.key), key=_order):
        text = view.text(file.name)
        if file.key is not None and text is not None:
            graphs.append({
                "file": file.name, "stage": file.stage, "index": file.index, "id": file.key.text,
                "generation": file.key.generation, "function": names.get(file.key, ""),
                "operations": _operations(text),
                "layers": _layers(view, file) or _from_captured(view, file, text),
            })  # fmt: skip
    return {"graphs": graphs} if graphs else None


def _operations(text: str) -> int:
    return sum(not line.renames for line in printed_lines(text.partition(f"\n{RUNS}")[0]))


def _order(file: FileRecord) -> tuple[Any, ...]:
    order = file.key.order if file.key is not None else ()
    return order, file.stage != CAPTURED, file.stage, file.index


def _from_captured(view: DumpView, file: FileRecord, text: str) -> list[list[Any]]:
    """The modules of a later graph, by the captured operations that its lines come from."""
    first = next((one for one in view.of(file.key, stage=CAPTURED)), None) if file.key is not None else None
    page = view.text(first.name) if first is not None and first.name != file.name else None
    layers = _layers(view, first) if first is not None else []
    if first is None or page is None or not layers:
        return []
    of = next((one.operations.of for one in chains_of(view) if one.key == file.key), {})
    return later_layers(graph_lines(page), layers, of.get(first.name, {}), graph_lines(text), of.get(file.name, {}))


def _layers(view: DumpView, file: FileRecord) -> list[list[Any]]:
    """[module, class, [[first line, last line], ...]], as the graph enters them."""
    index = view.record(LayerIndex, file.name.removesuffix(".py") + ".layers.json")
    return [
        [layer.module, layer.cls, [[a, b] for a, b in layer.lines if 0 < a <= b < _MOST_LINES]]
        for layer in (index.layers if index is not None else ())
    ]
