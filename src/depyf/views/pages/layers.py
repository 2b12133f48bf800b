"""``__compiled_fn_K.STAGE.N.layers.txt`` and ``.layers.json``: a graph to be read module by module, and where each
module is in it.

Input: the page of a graph and its ``LayerFacts``.  Output invariant: every operation of the graph stands once, in its
order; the same run gives the same text.
"""

from __future__ import annotations

import json
import re

from depyf.decompiler.emit.comments import comment, remark
from depyf.run.files.layout import graph_file
from depyf.run.graphs.graph_facts import LayerFacts
from depyf.run.graphs.layer_index import LayerLines
from depyf.run.graphs.layer_tree import GraphLine, Layer, layer_tree, ranges
from depyf.run.records import GraphRecord
from depyf.run.shapes.size_names import size_name
from depyf.run.store.codec import plain as stored
from depyf.safety.escape import one_line

_json = json.JSONEncoder(ensure_ascii=False).encode
"""As ``json.dumps``, which makes an encoder each time."""
_INDENT = "    "
_WORD = re.compile(r"(?<![\w.])[A-Za-z_]\w*")


def layers_pages(record: GraphRecord, page: str) -> tuple[str, str] | None:
    """The text and the index of one graph; None where its operations say no module."""
    facts = record.facts.layers if record.facts is not None else LayerFacts()
    tree = layer_tree(page, facts) if facts.layers else None
    if tree is None:
        return None
    alike = _first_of_each(tree)
    inputs = record.facts.inputs if record.facts is not None else ()
    names = {name: size_name(one.source).text for one in inputs if one.source for name in (one.name, one.name.lower())}
    return _text(record, tree, alike, names), _index(record, tree, alike)


def _first_of_each(tree: Layer) -> dict[int, str]:
    """id of a module -> the path of an earlier one that does the same."""
    first: dict[tuple[str, ...], str] = {}
    found: dict[int, str] = {}
    todo = [part for part in reversed(tree.parts) if isinstance(part, Layer)]
    while todo:
        layer = todo.pop()
        known = first.setdefault(layer.signature(), layer.path)
        if known != layer.path:
            found[id(layer)] = known  # the modules inside do the same as those inside of the other, too
        else:
            todo += [part for part in reversed(layer.parts) if isinstance(part, Layer)]
    return found


def _text(record: GraphRecord, tree: Layer, alike: dict[int, str], names: dict[str, str]) -> str:
    """``names``: parameters of the graph -> what the program calls them."""
    lines = [f"The graph of {graph_file(record)}, module by module.", ""]
    lines += [f"{'lines':>12}  module", *_contents(tree, alike, 0), ""]
    last, before = "", 0
    todo: list[tuple[int, GraphLine | Layer]] = [(0, part) for part in reversed(tree.parts)]
    while todo:
        depth, part = todo.pop()
        margin = _INDENT * depth
        if isinstance(part, Layer):
            same = f", same operations as {one_line(alike[id(part)])}" if id(part) in alike else ""
            lines += ["", remark(f"{margin}class {one_line(part.cls) or 'Module'}:", f"{one_line(part.path)}{same}")]
            todo += [(depth + 1, inner) for inner in reversed(part.parts)]
            last, before = "", depth + 1
        else:
            if depth < before:
                lines.append("")
            before = depth
            if part.source and part.source != last:
                lines.append(comment(one_line(part.source), margin))
                last = part.source
            lines.append(margin + _WORD.sub(lambda match: names.get(match[0], match[0]), part.text))
    return "\n".join(lines) + "\n"


def _contents(tree: Layer, alike: dict[int, str], depth: int) -> list[str]:
    lines = []
    todo = [(depth, part) for part in reversed(tree.parts) if isinstance(part, Layer)]
    while todo:
        depth, layer = todo.pop()
        where = ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in ranges(layer.numbers()))
        same = f", same operations as {one_line(alike[id(layer)])}" if id(layer) in alike else ""
        lines.append(f"{where:>12}  {'  ' * depth}{one_line(layer.path)} ({one_line(layer.cls) or 'module'}){same}")
        if id(layer) not in alike:
            todo += [(depth + 1, part) for part in reversed(layer.parts) if isinstance(part, Layer)]
    return lines


def _index(record: GraphRecord, tree: Layer, alike: dict[int, str]) -> str:
    """JSON, one module per line: path, class, line ranges in the graph's file, and what does the same."""
    items = []
    for layer in tree.layers():
        if layer is not tree:
            lines = LayerLines(layer.path, layer.cls, tuple(ranges(layer.numbers())), alike.get(id(layer), ""))
            items.append("  " + _json(stored(lines)))
    own = [part.number for part in tree.parts if isinstance(part, GraphLine)]
    return (
        f'{{\n "file": {json.dumps(graph_file(record))},\n "layers": [\n'
        + ",\n".join(items)
        + f'\n ],\n "of_no_module": {json.dumps([list(pair) for pair in ranges(own)])}\n}}\n'
    )
