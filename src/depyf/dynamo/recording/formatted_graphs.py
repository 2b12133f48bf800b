"""Graphs that a backend of the program formats for its log: vLLM's and SGLang's before and after they split them.

Engines call ``torch._dynamo.utils.lazy_format_graph_code(name, graph)`` for depyf's sake, and drop what it returns.
While a ``Formatted`` is on, such a call is one more stage of the compilation, called ``name``; torch's own calls are
not looked at, for torch reports the same graphs.  What the function returns is unchanged.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from typing import Any

from depyf.dynamo.pure_access import in_classes
from depyf.dynamo.recording.transform import current_compile_id
from depyf.safety.guarded import Door

Found = Callable[[str, str, str], None]
"""(compile id, stage, text of the graph)"""


class Formatted:
    """From ``start`` to ``stop``; ``problem`` is told what could not be printed."""

    def __init__(self, found: Found, problem: Callable[[str], None]) -> None:
        self._found = found
        self._problem = problem
        self._before: Callable[..., Any] | None = None
        self._ours: Callable[..., Any] | None = None

    def start(self) -> None:
        import torch._dynamo.utils as utils

        before = utils.lazy_format_graph_code

        def lazy_format_graph_code(name: str, gm: Any, *args: Any, **kwargs: Any) -> Any:
            caller = sys._getframe(1)
            with Door(f"the graph {name!r} could not be printed", self._problem):
                if not str(caller.f_globals.get("__name__", "")).startswith("torch."):
                    self._take(name, gm)
            return before(name, gm, *args, **kwargs)

        self._before, self._ours = before, lazy_format_graph_code
        utils.lazy_format_graph_code = lazy_format_graph_code

    def stop(self) -> None:
        import torch._dynamo.utils as utils

        if self._before is not None and utils.lazy_format_graph_code is self._ours:
            utils.lazy_format_graph_code = self._before
        self._before = self._ours = None

    def _take(self, name: str, gm: Any) -> None:
        compile_id = current_compile_id()
        if compile_id == "unknown" or not in_classes(
            type(gm), "GraphModule"
        ):  # no file it could be a stage of, or no graph
            return
        stage = re.sub(r"\W+", "_", name).strip("_") or "Graph"
        self._found(
            compile_id, stage, str(gm.print_readable(print_output=False, include_stride=True, include_device=True))
        )
