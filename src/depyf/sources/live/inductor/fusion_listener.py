"""Hears why Inductor does not make one kernel of two, without switching its log on.

Input: the logger to which torch's scheduler tells each refusal (``torch._inductor.scheduler.WhyNoFuse``: the reason is
a constant, its values are separate, and the function that refuses holds both nodes).  Output: for each graph the
refused pairs, as names of operations.
"""

from __future__ import annotations

import sys
import types
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from depyf.safety.guarded import Door
from depyf.sources.live.events.asked_logger import AskedLogger
from depyf.sources.live.pure_access import attribute

_SCHEDULER = "torch._inductor.scheduler"
_MOST = 20_000
"""Refused pairs of one graph that are kept."""

Names = frozenset[str]
"""The operations of Inductor that are in a node of its scheduler."""


@dataclass(frozen=True, slots=True)
class FusionRefusal:
    """Two nodes of the scheduler that Inductor decided not to fuse."""

    first: Names
    second: Names
    reason: str
    """torch's format string."""
    values: tuple[str, ...]


@dataclass
class _OfGraph:
    refused: dict[tuple[str, str, str], FusionRefusal] = field(default_factory=dict)
    names: dict[str, Names] = field(default_factory=dict)


class FusionListener:
    """Records decisions not to fuse, between ``start`` and ``stop``.  Exceptions go to ``note``, not to torch."""

    def __init__(self, note: Callable[[str], None]) -> None:
        door = Door("why kernels were not fused could not be told", note)
        self._asked = AskedLogger(_SCHEDULER, "fusion_log", self._hear, door)
        self._graphs: weakref.WeakKeyDictionary[Any, _OfGraph] = weakref.WeakKeyDictionary()

    def start(self) -> None:
        """Attach to the scheduler's logger.  Does nothing while its module is not loaded: call it again later."""
        self._asked.start()

    def stop(self) -> None:
        """Detach from the logger."""
        self._asked.stop()
        self._graphs.clear()

    def take(self, graph: Any) -> tuple[FusionRefusal, ...]:
        """The decisions not to fuse in ``graph`` (a ``GraphLowering``), the earliest first."""
        found = self._graphs.pop(graph, None)
        return tuple(found.refused.values()) if found is not None else ()

    def _hear(self, frame: types.FrameType) -> None:
        """``frame`` is the method of the logger; below it are ``WhyNoFuse.__call__`` and who refuses."""
        why = frame.f_locals.get("msg")
        if type(why) is not _why_class() or frame.f_back is None or frame.f_back.f_back is None:
            return
        graph = _current_graph()
        if graph is None:
            return
        known = self._graphs.setdefault(graph, _OfGraph())
        reason = attribute(why, "reason")
        pair = tuple(_names(known, attribute(why, name), frame.f_back.f_back) for name in ("name1", "name2"))
        if type(reason) is str and len(known.refused) < _MOST:
            values = tuple(str(value) for value in attribute(why, "args") or ())
            key = (attribute(why, "name1"), attribute(why, "name2"), reason)
            known.refused.pop(key, None)  # the last time counts
            known.refused[key] = FusionRefusal(pair[0], pair[1], reason, values)


def _why_class() -> type | None:
    found = getattr(sys.modules.get(_SCHEDULER), "WhyNoFuse", None)
    return found if isinstance(found, type) else None


def _current_graph() -> Any:
    from torch._inductor.virtualized import V

    graph = V.graph
    return graph if attribute(graph, "scheduler") is not None or hasattr(graph, "graph_inputs") else None


def _names(known: _OfGraph, name: str, asker: types.FrameType) -> Names:
    """The operations of the node ``name``, which is a variable of the function that refuses."""
    found = known.names.get(name)
    if found is None:
        kinds = getattr(sys.modules.get(_SCHEDULER), "BaseSchedulerNode", ())
        nodes = (value for value in asker.f_locals.values() if isinstance(value, kinds) and value.get_name() == name)
        node = next(nodes, None)
        found = frozenset(node.get_operation_names()) if node is not None else frozenset({name})
        known.names[name] = found
    return found
