"""Edited graphs of AOTAutograd: joint, forward and backward.

``aot_module_simplified``, through which every backend that uses AOTAutograd goes, is given the program's compilers
inside ones of ours.  The graph that a compiler is about to get is exchanged; a backward that is compiled late, too.
"""

from __future__ import annotations

import inspect
import sys
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from depyf.actions.debugger.stepping.levels import no_caches
from depyf.actions.edit.edited.graph_stage import exchanged
from depyf.actions.edit.uses import EditedCompilation
from depyf.run.compile_stages import BACKWARD, FORWARD, JOINT
from depyf.safety.guarded import Door, say

if TYPE_CHECKING:
    from depyf.actions.edit.edited.edited_run import EditedRun

_ENTRY = "aot_module_simplified"


class AotStages:
    """Between ``start`` and ``stop``, AOTAutograd compiles the edited graphs in the place of those it made."""

    def __init__(self, run: EditedRun) -> None:
        self._run = run
        self._before: Callable[..., Any] | None = None
        self._ours: Callable[..., Any] | None = None

    def start(self) -> None:
        import torch._functorch.aot_autograd as aot

        before = self._before = aot.aot_module_simplified
        signature = inspect.signature(before)

        def aot_module_simplified(*args: Any, **kwargs: Any) -> Any:
            compilation = self._run.compilation if self._before is not None else None
            if compilation is None:
                return before(*args, **kwargs)
            given = signature.bind(*args, **kwargs)
            given.apply_defaults()
            with Door("depyf: no edited graph of AOTAutograd is used here", say):
                self._wrap(given.arguments, compilation)
            return before(*given.args, **given.kwargs)

        self._ours = aot_module_simplified
        _exchange(before, aot_module_simplified)

    def stop(self) -> None:
        before, self._before = self._before, None
        if before is not None and self._ours is not None:
            _exchange(self._ours, before)

    def _wrap(self, given: dict[str, Any], compilation: EditedCompilation) -> None:
        forward, backward = given["fw_compiler"], given.get("bw_compiler")
        inference = given.get("inference_compiler")
        given["fw_compiler"] = self._compiler(compilation, FORWARD, forward)
        given["bw_compiler"] = self._compiler(compilation, BACKWARD, backward if backward is not None else forward)
        given["inference_compiler"] = self._compiler(
            compilation, FORWARD, inference if inference is not None else forward
        )
        partition = given["partition_fn"]

        def partitioned(joint: Any, *args: Any, **kwargs: Any) -> Any:
            exchanged(self._run, compilation, JOINT, joint)
            return partition(joint, *args, **kwargs)

        given["partition_fn"] = partitioned

    def _compiler(self, compilation: EditedCompilation, stage: str, own: Callable[..., Any]) -> Callable[..., Any]:
        def compile_graph(graph: Any, *args: Any, **kwargs: Any) -> Any:
            exchanged(self._run, compilation, stage, graph)
            before = list(compilation.replaced)
            with self._run.own_errors(compilation), no_caches(), self._run.compiling(compilation):
                made = own(graph, *args, **kwargs)
            files = [file for file in compilation.replaced if file.stage == stage or file not in before]
            if stage == FORWARD:
                files += [file for file in before if file.stage == JOINT]
            return self._run.counted(made, files)

        return compile_graph


def _exchange(old: Callable[..., Any], new: Callable[..., Any]) -> None:
    """In every module that has the function by its name."""
    for module in list(sys.modules.values()):
        if isinstance(module, types.ModuleType) and vars(module).get(_ENTRY) is old:
            setattr(module, _ENTRY, new)
