"""``__compiled_fn_0_0.Captured_Graph.0.layers.json``: which lines of a graph's file belong to which module."""

from __future__ import annotations

from dataclasses import dataclass, field

Stretch = tuple[int, int]
"""The first and the last line."""


@dataclass(frozen=True, slots=True)
class LayerLines:
    """The lines of a graph that one module of the program computes."""

    module: str
    """Its path: ``self.h.0.attn``."""
    cls: str = field(metadata={"as": "class"})
    lines: tuple[Stretch, ...]
    same_as: str = ""
    """The path of an earlier module with the same operations."""


@dataclass(frozen=True, slots=True)
class LayerIndex:
    """The modules in the order in which the graph enters them."""

    layers: tuple[LayerLines, ...]
    of_no_module: tuple[Stretch, ...] = ()
