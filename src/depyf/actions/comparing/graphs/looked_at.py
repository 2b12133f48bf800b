"""A graph that is run node by node in eager mode, to find the node that does something besides its result.

Input: a graph and its inputs, which stay as they are.  Output: ``Looked``: the node that ran last, which is the one
that raised an error; the first that wrote to an input (torch counts the writes, but for those of ``batch_norm``); the
first that printed; the first that changed a setting of torch.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from depyf.actions.comparing.graphs.compiled_graph import copied, steady_random_numbers
from depyf.sources.live.origins.probes import clean_copy
from depyf.sources.live.state.graph_tensors import GraphTensors
from depyf.sources.live.state.settings import ChangedSettings
from depyf.sources.live.tensors import difference


class Looked:
    """Runs ``gm`` node by node.  ``written``: the position of an input to watch for writes.  ``heard``: returns what
    was printed since its last call.  ``setting``: the path of a setting to watch."""

    def __init__(
        self,
        gm: Any,
        inputs: tuple[Any, ...],
        written: int | None = None,
        heard: Callable[[], str] = str,
        setting: str = "",
    ) -> None:
        import torch

        own, looked = copied(inputs), self
        self.last: Any = None
        self.writer: Any = None
        self.printer: Any = None
        self.setter: Any = None
        settings = ChangedSettings()

        class NodeByNode(torch.fx.Interpreter):  # type: ignore[misc]
            def run_node(self, n: Any) -> Any:
                looked.last = n
                watched = own[written] if written is not None and looked.writer is None else None
                before = None if watched is None else (watched._version, watched.detach().clone())
                value = super().run_node(n)
                if before is not None and _is_written(watched, *before):
                    looked.writer = n
                if heard():
                    looked.printer = looked.printer or n
                if setting and setting in settings.now():
                    looked.setter = looked.setter or n
                return value

        with contextlib.suppress(Exception), steady_random_numbers(), GraphTensors(gm):
            interpreter = NodeByNode(clean_copy(gm))
            interpreter.extra_traceback = False
            interpreter.run(*own)


def _is_written(tensor: Any, version: int, kept: Any) -> bool:
    return tensor._version != version or difference(kept, tensor, 0.0, 0.0) is not None
