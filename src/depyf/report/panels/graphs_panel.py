"""The graphs of a dump: which there are, and the modules that their lines belong to.

The picture is drawn by the page, from the text of the file, when it is asked for.
"""

from __future__ import annotations

import re
from typing import Any

from depyf.dump.compile_stages import CAPTURED
from depyf.report.dump_view import DumpView, ShownFile
from depyf.report.told_entries import told_functions

_OPERATION = re.compile(r"^ +(?!\w+ = \w+$)\w+(?:: \"[^\"]*\")? = ", re.M)


def graphs_panel(view: DumpView, other: DumpView | None) -> dict[str, Any] | None:
    """Each graph with its size, the captured ones first; None where no graph was captured."""
    titles = {entry.key: function.title for function in told_functions(view) for entry in function.entries}
    graphs = []
    for file in sorted((file for file in view.files if file.kind == "graph" and file.key), key=_order):
        text = view.text(file.name)
        if file.key is not None and text is not None:
            graphs.append({
                "file": file.name, "stage": file.stage, "index": file.index, "id": file.key.text,
                "generation": file.key.generation, "function": titles.get(file.key, ""),
                "operations": len(_OPERATION.findall(text.partition('\nif __name__ == "__main__"')[0])),
                "layers": _layers(view, file),
            })  # fmt: skip
    return {"graphs": graphs} if graphs else None


def _order(file: ShownFile) -> tuple[Any, ...]:
    order = file.key.order if file.key is not None else ()
    return order, file.stage != CAPTURED, file.stage, file.index


def _layers(view: DumpView, file: ShownFile) -> list[list[Any]]:
    """[module, class, [[first line, last line], ...]], as the graph enters them."""
    name = file.name.removesuffix(".py") + ".layers.json"
    page = view.json(name) if name in view.by_name else None
    layers = page.get("layers") if isinstance(page, dict) else None
    return [
        [layer.get("module", ""), layer.get("class", ""), layer.get("lines", [])]
        for layer in (layers if isinstance(layers, list) else ())
        if isinstance(layer, dict)
    ]
