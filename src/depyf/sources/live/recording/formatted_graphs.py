"""Graphs that a backend of the program formats for its log: vLLM's and SGLang's before and after they split them.

Engines call ``torch._dynamo.utils.lazy_format_graph_code(name, graph)`` for depyf's sake, and drop what it returns.
While a ``Formatted`` is on, such a call is one more stage of the compilation, called ``name``; torch's own calls are
not looked at, for torch reports the same graphs.  What the function returns is unchanged.  Who gave the graph, and the
pass context of the engine then, stay with it.
"""

from __future__ import annotations

import re
import sys
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from depyf.decompiler.bytecode.host.written_names import qualified_name
from depyf.run.graphs.given_graph import GivenRecord
from depyf.run.graphs.graph_facts import LayerFacts
from depyf.safety.guarded import Door
from depyf.sources.live.ahead.ahead_frames import ahead_work
from depyf.sources.live.ahead.ahead_functions import name_of_callee
from depyf.sources.live.events.graph_layers import layer_facts
from depyf.sources.live.pure_access import attribute, full_name, in_classes, literal, own_attributes
from depyf.sources.live.recording.transform import current_compile_id

_CONTEXT = "_pass_context"
"""The global in which vLLM's, SGLang's and Aphrodite's modules ``inductor_pass`` keep what their passes run for."""
_CONTEXT_MODULE = "inductor_pass"
_CALLERS = 6


@dataclass(frozen=True, slots=True)
class FormattedGraph:
    """A graph that a backend passed to ``lazy_format_graph_code``."""

    stage: str
    text: str
    layers: LayerFacts
    given: GivenRecord


Found = Callable[[str, FormattedGraph], None]
"""(compile id, graph)"""


class Formatted:
    """Records the calls of ``lazy_format_graph_code`` between ``start`` and ``stop``.  ``problem`` gets a line on an
    error."""

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
                on = self._ours is lazy_format_graph_code  # a module imported meanwhile keeps this function
                if on and not str(caller.f_globals.get("__name__", "")).startswith("torch."):
                    self._take(name, gm, caller, args, kwargs)
            return before(name, gm, *args, **kwargs)

        self._before, self._ours = before, lazy_format_graph_code
        utils.lazy_format_graph_code = lazy_format_graph_code
        _exchange(before, lazy_format_graph_code)

    def stop(self) -> None:
        import torch._dynamo.utils as utils

        before, ours = self._before, self._ours
        self._before = self._ours = None
        if before is not None and ours is not None:
            if utils.lazy_format_graph_code is ours:
                utils.lazy_format_graph_code = before
            _exchange(ours, before)

    def _take(self, name: str, gm: Any, caller: types.FrameType, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        compile_id = current_compile_id()
        if compile_id == "unknown":  # so it is while a backend works ahead of time
            work = ahead_work()
            compile_id = (work.compile_id if work is not None else name_of_callee(caller)) or compile_id
        if compile_id == "unknown" or not in_classes(
            type(gm), "GraphModule"
        ):  # no file it could be a stage of, or no graph
            return
        stage = re.sub(r"\W+", "_", name).strip("_") or "Graph"
        text = str(gm.print_readable(print_output=False, include_stride=True, include_device=True))
        asked = [("id", literal(args[0]))] if args else []
        asked += [(key, literal(value)) for key, value in kwargs.items()]
        context = (*((key, value) for key, value in asked if value), *_pass_context(caller))
        given = GivenRecord(name, _function(caller), context)
        self._found(compile_id, FormattedGraph(stage, text, layer_facts(gm), given))


_NAME = "lazy_format_graph_code"


def _exchange(old: Callable[..., Any], new: Callable[..., Any]) -> None:
    """In the modules of the program that imported the function by its name; torch's own calls are not looked at."""
    for name, module in sys.modules.copy().items():
        if type(module) is types.ModuleType and not name.startswith(("torch.", "depyf.")):
            namespace = vars(module)
            if namespace.get(_NAME) is old:
                namespace[_NAME] = new


def _function(frame: types.FrameType) -> str:
    """``module.Class.function`` of a frame."""
    name = qualified_name(frame.f_code)
    module = str(frame.f_globals.get("__name__", ""))
    return f"{module}.{name}" if module else name


def _pass_context(caller: types.FrameType) -> tuple[tuple[str, str], ...]:
    """What the engine's pass context says: the range or the size of the batch that it compiles for."""
    places: list[dict[str, Any]] = []
    frame: types.FrameType | None = caller
    for _ in range(_CALLERS):
        if frame is not None:
            places.append(frame.f_globals)
            frame = frame.f_back
    top = str(caller.f_globals.get("__name__", "")).partition(".")[0]
    for name, module in sys.modules.copy().items():
        if name.startswith(f"{top}.") and name.rpartition(".")[2] == _CONTEXT_MODULE:
            places.append(vars(module))
    context = next((found for place in places if (found := place.get(_CONTEXT)) is not None), None)
    own = own_attributes(context) if context is not None else None
    return tuple((key, shown) for key, value in (own or {}).items() if (shown := _shown(value)))


def _shown(value: Any, deepest: int = 2) -> str:
    """A literal, or ``Range(start=1, end=8)`` of plain values; "" for anything else."""
    known = literal(value)
    if known:
        return known
    own = own_attributes(value) if deepest else None
    slots = attribute(type(value), "__slots__")
    names = list(own) if own else [name for name in slots if type(name) is str] if type(slots) is tuple else []
    parts = [(name, _shown(attribute(value, name), deepest - 1)) for name in names[:16]]
    if not parts or not all(part for _, part in parts):
        return ""
    return f"{full_name(type(value)).rpartition('.')[2]}({', '.join(f'{name}={part}' for name, part in parts)})"
