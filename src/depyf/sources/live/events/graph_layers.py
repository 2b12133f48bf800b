"""Which module of the program each operation of a live graph belongs to.

Input: a ``GraphModule``, while torch or a backend holds it.  Output: ``LayerFacts``, plain data, linear in the graph.
What a node does not say (``nn_module_stack``) stays out.
"""

from __future__ import annotations

from typing import Any

from depyf.run.graphs.graph_facts import LayerFacts
from depyf.sources.live.pure_access import attribute, is_a, short_name

_STACK = "nn_module_stack"


def layer_facts(module: Any) -> LayerFacts:
    """The modules in the order in which the graph enters them, and the module of each operation.  Names in nested
    graphs are prefixed with the path of the nested graph."""
    modules: list[tuple[str, str, int]] = []
    found: dict[tuple[int, str], int] = {}
    layers: list[tuple[str, int]] = []
    for path, graph in _graphs(module):
        for node in graph.nodes:
            meta = attribute(node, "meta")
            stack = meta.get(_STACK) if type(meta) is dict else None
            if stack is None or not is_a(stack, dict) or node.op in ("placeholder", "output", "get_attr"):
                continue
            parent = -1
            for key, value in stack.items():
                known = found.get((parent, str(key)))
                if known is None:
                    known = len(modules)
                    found[parent, str(key)] = known
                    modules.append((*_module(value), parent))
                parent = known
            if parent >= 0:
                layers.append((f"{path}{node.name}", parent))
    return LayerFacts(tuple(modules), tuple(layers))


def _graphs(module: Any, path: str = "") -> list[tuple[str, Any]]:
    """The graph of ``module`` and of the graphs in it, each with the path before its names."""
    found: list[tuple[str, Any]] = []
    todo = [(path, module)]
    while todo:
        where, one = todo.pop()
        graph = attribute(one, "_graph")
        if graph is not None:
            found.append((where, graph))
            inner = attribute(one, "_modules")
            named = list(inner.copy().items()) if type(inner) is dict else []
            todo += [
                (f"{where}{name}.", part) for name, part in reversed(named) if attribute(part, "_graph") is not None
            ]
    return found


def _module(value: Any) -> tuple[str, str]:
    """The path and the class that a stack has for a module: ``("L['self'].h.0", Block)``."""
    if type(value) is tuple and len(value) > 1:
        kind = value[1]
        name = kind.rpartition(".")[2] if type(kind) is str else short_name(kind) if is_a(kind, type) else ""
        return str(value[0]), name
    return (value if type(value) is str else ""), ""
