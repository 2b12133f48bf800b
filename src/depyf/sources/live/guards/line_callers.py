"""Who called the line that a guard comes from: torch keeps the innermost line of a guard only.

Input: a cache entry, and lines.  Output: the lines that led there, the outermost first, from the operations of the
entry's graphs, which keep the whole stack; () where no operation is of that line or its function.  The lines of
torch's own modules are in no stack: there the operation's module tells.
"""

from __future__ import annotations

import linecache
import types
from typing import Any

from depyf.run.graphs.node_origins import Frame
from depyf.run.places.place import Place
from depyf.sources.live.caches.entries import LiveEntry
from depyf.sources.live.caches.live_graphs import compiled_functions, live_code
from depyf.sources.live.origins.node_reading import OPERATIONS, module_classes, stack_of
from depyf.sources.live.pure_access import class_mro, class_namespace

_LONGEST = 160
_Stack = tuple[Frame, ...]


class LineCallers:
    """The callers of lines in one entry.  Its graphs are read at the first question."""

    def __init__(self, entry: LiveEntry) -> None:
        self._entry = entry
        self._known: list[tuple[_Stack, tuple[type, ...]]] | None = None

    def of(self, place: Place | None) -> tuple[Place, ...]:
        """The lines of the program that led to ``place``, the outermost first; () where they are unknown."""
        if place is None:
            return ()
        known = self._operations()
        found = next((stack[:at] for stack, _ in known if (at := _index(stack, place, place.line)) is not None), None)
        if found is None:
            chains = {stack[:at]: None for stack, _ in known if (at := _index(stack, place)) is not None}
            found = next(iter(chains)) if len(chains) == 1 else None
        if found is None:
            found = next((stack for stack, modules in known if any(_has_line(cls, place) for cls in modules)), ())
        return tuple(_place(frame) for frame in found)

    def _operations(self) -> list[tuple[_Stack, tuple[type, ...]]]:
        if self._known is None:
            modules = live_code(compiled_functions(self._entry)).modules
            graphs = [module.graph for module in modules if hasattr(module, "graph")]
            nodes = (node for graph in graphs for node in graph.nodes if node.op in OPERATIONS)
            self._known = [(stack, module_classes(node)) for node in nodes if (stack := stack_of(node))]
        return self._known


def _index(stack: _Stack, place: Place, line: int = 0) -> int | None:
    """Where ``place``, or a line of the same function, stands in a stack."""
    for at, (file, number, function) in enumerate(stack):
        if file == place.filename and function.rpartition(".")[2] == place.function.rpartition(".")[2]:
            if not line or number == line:
                return at
    return None


def _has_line(cls: type, place: Place) -> bool:
    """Whether the line is in the ``forward`` of a class."""
    forward: Any = next(
        (class_namespace(c)["forward"] for c in class_mro(cls) if "forward" in class_namespace(c)), None
    )
    code = forward.__code__ if type(forward) is types.FunctionType else None
    return (
        code is not None
        and code.co_filename == place.filename
        and any(line == place.line for _, _, line in code.co_lines())
    )


def _place(frame: Frame) -> Place:
    file, line, function = frame
    return Place(file, line, function, linecache.getline(file, line).strip()[:_LONGEST])
