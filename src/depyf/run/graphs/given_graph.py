"""How a backend of the program gave a graph to be formatted.

Input: nothing.  Output invariant: strings and numbers.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GivenRecord:
    """How a backend of the program gave a graph to ``lazy_format_graph_code``."""

    name: str
    """As it was called there: ``before split``."""
    by: str
    """The function that gave it: ``vllm.compilation.backends.VllmBackend.__call__``."""
    context: tuple[tuple[str, str], ...] = ()
    """The engine's pass context then (``PassContext`` of vLLM, SGLang): ``compile_range``, ``runtime_shape``; other
    arguments."""
    order: int = 0
    """Its place among the graphs that were given under one compile id."""
