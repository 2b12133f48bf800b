"""The modules that the lines of a later graph belong to: those of the captured operations that they come from.

Input: the chain of a compilation, the modules of its captured graph, and the lines of a later one.  Output: modules as
``graphs_panel.py`` has them, [module, class, [[first line, last line], ...]], outer ones first.  Gradients are apart
from the forward of their module. A joint graph has that forward, and a backward graph computes parts of it again:
together they would be one box that everything leads to and comes from.
"""

from __future__ import annotations

from typing import Any

from depyf.views.report.links.graph_lines import GraphLines
from depyf.views.report.links.operations import Numbers

_GRADIENTS = "tangents_"
"""Begins the names of what a backward is given."""
BACKWARD, AGAIN = " (backward)", " (again)"


def later_layers(
    captured: GraphLines, layers: list[list[Any]], made: dict[str, Numbers], later: GraphLines, own: dict[str, Numbers]
) -> list[list[Any]]:
    """The module tree of a later graph.  ``layers``: that of the captured graph, with the numbers ``made``; ``own``:
    the numbers of the later graph."""
    modules = _modules(captured, layers, made)
    gradients = _gradients(later)
    joint = len(gradients) > 0 and any(name.startswith("primals_") for name in later.inputs)
    found: dict[tuple[int, str], list[list[int]]] = {}
    before: dict[tuple[int, str], int] = {}
    for place, node in enumerate(later.nodes):
        back = node.name in gradients
        apart = BACKWARD if joint and back else AGAIN if gradients and not joint and not back else ""
        around = [modules.get(number, frozenset()) for number in own.get(node.name, ())]
        for layer in sorted(frozenset.intersection(*around)) if around else ():
            key = layer, apart
            stretches = found.setdefault(key, [])
            if before.get(key) == place - 1:
                stretches[-1][1] = node.line
            else:
                stretches.append([node.line, node.line])
            before[key] = place
    return [
        [layers[layer][0] + apart, layers[layer][1], stretches]
        for (layer, apart), stretches in sorted(found.items(), key=lambda item: (item[0][1], item[0][0]))
    ]


def _modules(captured: GraphLines, layers: list[list[Any]], made: dict[str, Numbers]) -> dict[int, frozenset[int]]:
    """Number of an operation -> the layers around it."""
    around: dict[int, list[int]] = {}
    lines = {node.line: node.name for node in captured.nodes}
    for place, (_, _, stretches) in enumerate(layers):
        for first, last in stretches:
            for line in range(first, last + 1):
                for number in made.get(lines.get(line, ""), ()):
                    around.setdefault(number, []).append(place)
    return {number: frozenset(places) for number, places in around.items()}


def _gradients(lines: GraphLines) -> set[str]:
    """The operations that need what the backward is given."""
    found = {name for name in lines.inputs if name.startswith(_GRADIENTS)}
    for node in lines.nodes:
        if not found.isdisjoint(node.reads):
            found.add(node.name)
    return found
