"""Where the operations of a graph come from: what links a line of the program to the kernels that compute it.

Input: what torch's live graphs said while they were reported.  Output: plain records, and ``nodes_page``, the JSON of
one compilation.  Invariant: names of nodes, places and line numbers only; the same run gives the same text.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field

_json = json.JSONEncoder(ensure_ascii=False).encode
"""As ``json.dumps``, which makes an encoder each time."""
Frame = tuple[str, int, str]
"""File, line, function."""


@dataclass(frozen=True, slots=True)
class NodeOrigins:
    """What one live graph, or the lowered graph of a wrapper, says of its operations."""

    stacks: tuple[tuple[str, tuple[Frame, ...]], ...] = ()
    """Operation -> the lines that ran it, the outermost first (captured graphs)."""
    captured: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Operation -> the operations of the captured graph that it is part of, or whose gradient it is part of."""
    kernels: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = ()
    """For each kernel of a wrapper, in order: the buffers that it writes, and the operations of the graph that it
    computes."""

    def __bool__(self) -> bool:
        return bool(self.stacks or self.captured or self.kernels)


@dataclass(frozen=True, slots=True)
class KernelNodes:
    """One kernel of a wrapper: the buffers that it writes, and the operations of the graph that it computes."""

    buffers: tuple[str, ...]
    nodes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class GraphNodes:
    """What the file of a compilation says of one graph."""

    stacks: dict[str, int] = field(default_factory=dict)
    """Operation -> the number of the stack that ran it."""
    captured: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """As in ``NodeOrigins``, without those that an earlier graph has."""
    kernels: tuple[KernelNodes, ...] = ()


@dataclass(frozen=True, slots=True)
class NodesPage:
    """What ``nodes_page`` writes, read again."""

    frames: tuple[Frame, ...] = ()
    stacks: tuple[tuple[int, ...], ...] = ()
    """The numbers of their frames."""
    graphs: dict[str, GraphNodes] = field(default_factory=dict)
    """File -> what is known of its graph."""

    def stack(self, number: int | None) -> tuple[tuple[str, int], ...]:
        """Files and lines, the outermost first; () for a number that it does not have."""
        if number is None or not 0 <= number < len(self.stacks):
            return ()
        frames = [self.frames[one] for one in self.stacks[number] if 0 <= one < len(self.frames)]
        return tuple((file, line) for file, line, _ in frames)


def nodes_page(graphs: Iterable[tuple[str, NodeOrigins]]) -> str:
    """The JSON text for the graphs (file, origins) of one compilation; "" where nothing is known.

    ``frames`` are [file, line, function], ``stacks`` lists of their numbers.  An operation that an earlier graph has
        under the same name, with the same origin, is not repeated.
    """
    frames: dict[Frame, int] = {}
    stacks: dict[tuple[int, ...], int] = {}
    known: dict[str, tuple[str, ...]] = {}
    pages: list[tuple[str, dict[str, object]]] = []
    for file, origins in graphs:
        page: dict[str, object] = {}
        if origins.stacks:
            page["stacks"] = {
                name: stacks.setdefault(tuple(frames.setdefault(one, len(frames)) for one in stack), len(stacks))
                for name, stack in origins.stacks
            }
        fresh = {name: list(made) for name, made in origins.captured if known.get(name) != made}
        for name, made in origins.captured:
            known.setdefault(name, made)
        if fresh:
            page["captured"] = fresh
        if origins.kernels:
            page["kernels"] = [{"buffers": list(buffers), "nodes": list(nodes)} for buffers, nodes in origins.kernels]
        if page:
            pages.append((file, page))
    if not pages:
        return ""
    return (
        "{\n"
        f' "frames": {_items([list(frame) for frame in frames])},\n'
        f' "stacks": {json.dumps([list(stack) for stack in stacks])},\n'
        ' "graphs": {\n' + ",\n".join(f"  {_text(file)}: {_members(page)}" for file, page in pages) + "\n }\n}\n"
    )


def _members(page: dict[str, object]) -> str:
    return "{\n" + ",\n".join(f"   {_text(name)}: {_text(value)}" for name, value in page.items()) + "\n  }"


def _items(values: list[list[object]]) -> str:
    return "[\n" + ",\n".join("  " + _text(value) for value in values) + "\n ]" if values else "[]"


def _text(value: object) -> str:
    return _json(value)
