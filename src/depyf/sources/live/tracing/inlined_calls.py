"""Times the functions that Dynamo traces into, by the line that calls them.

Input: what Dynamo would log (``torch/_dynamo/symbolic_convert.py``): that it begins with a function, and that it is
done with it; the code, and the translators, are objects there.  Output: a tree of ``TracedCall`` for each compilation,
in which calls of one function from one line are one node.  A function that ends in an exception is closed by what
its caller does next.  A generator belongs to the function that made it, and runs inside the one that asks for a value.
"""

from __future__ import annotations

import inspect
import threading
import time
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from depyf.decompiler.bytecode.host.written_names import qualified_name
from depyf.run.bill.traced_calls import TracedCall
from depyf.run.records import CompileKey
from depyf.safety.guarded import Door
from depyf.sources.live.events.asked_logger import AskedLogger
from depyf.sources.live.pure_access import attribute

_BEGINS = "INLINING %s%s, %s"
_ENDS = ("DONE INLINING %s", "FAILED INLINING %s")
_SHORTEST = 0.001
"""Seconds; what took less is in its caller's."""
_MOST = 4000
"""Nodes of one compilation."""

_Place = tuple[str, str, int]
"""Function, file, first line."""


@dataclass
class _TracedNode:
    place: _Place
    at: int
    calls: int = 0
    seconds: float = 0.0
    inside: dict[tuple[_Place, int], _TracedNode] = field(default_factory=dict)


@dataclass
class _Open:
    node: _TracedNode
    began: float


@dataclass
class _TracedTree:
    root: _TracedNode
    nodes: int = 0
    open: list[_Open] = field(default_factory=list)
    """What is being traced now, the outermost first."""

    def depth_of(self, code: types.CodeType) -> int | None:
        """How deep a function is that is being traced, 0 for the one that is compiled; None where it is not."""
        place = _place(code)
        for depth in range(len(self.open), 0, -1):
            if self.open[depth - 1].node.place == place:
                return depth
        return 0 if self.root.place == place else None

    def close(self, depth: int, now: float) -> None:
        """What is deeper than ``depth`` has ended."""
        while len(self.open) > depth:
            ended = self.open.pop()
            outer = any(one.node is ended.node for one in self.open)
            ended.node.seconds += 0.0 if outer else now - ended.began


class InlinedCalls:
    """Records the calls that Dynamo inlines between ``start`` and ``stop``.  ``key_now``: returns the compilation in
    progress, or None."""

    def __init__(self, key_now: Callable[[], CompileKey | None], note: Callable[[str], None]) -> None:
        door = Door("what tracing took could not be told", note)
        self._asked = AskedLogger("torch._dynamo.symbolic_convert", "log", self._hear, door)
        self._key_now = key_now
        self._trees: dict[tuple[CompileKey, int], _TracedTree] = {}

    def start(self) -> None:
        """Attach to Dynamo's logger.  Does nothing while Dynamo is not loaded: call it again later."""
        self._asked.start()

    def stop(self) -> None:
        """Detach from the logger."""
        self._asked.stop()

    def of(self, key: CompileKey) -> tuple[TracedCall, ...]:
        """The tree of a compilation, callers before what they call; () where nothing took long."""
        return tuple(call for (own, _), tree in self._trees.items() if own == key for call in _calls(tree))

    def found(self) -> dict[CompileKey, tuple[TracedCall, ...]]:
        """The traced calls of each compilation that has any."""
        return {key: calls for key in dict.fromkeys(key for key, _ in self._trees) if (calls := self.of(key))}

    def _hear(self, frame: types.FrameType) -> None:
        known = frame.f_locals
        message, values, teller = known.get("msg"), known.get("args"), frame.f_back
        begins = message == _BEGINS
        if not (begins or message in _ENDS) or type(values) is not tuple or not values or teller is None:
            return
        code = values[0]
        if not isinstance(code, types.CodeType):
            return
        key = self._key_now()
        if key is None:
            return
        now = time.perf_counter()
        thread = threading.get_ident()
        if begins:
            self._begin(key, thread, teller.f_locals.get("parent"), code, now)
        elif (tree := self._trees.get((key, thread))) is not None and (depth := tree.depth_of(code)):
            tree.close(depth - 1, now)

    def _begin(self, key: CompileKey, thread: int, caller: Any, code: types.CodeType, now: float) -> None:
        tree = self._trees.get((key, thread))
        if tree is None:
            root = _root(caller)
            if root is None:
                return
            tree = self._trees[key, thread] = _TracedTree(_TracedNode(_place(root), 0, 1))
        calling = attribute(caller, "f_code")
        depth = tree.depth_of(calling) if isinstance(calling, types.CodeType) else None
        if depth is not None and not code.co_flags & inspect.CO_GENERATOR:
            tree.close(depth, now)
        above = tree.open[-1].node if tree.open else tree.root
        line = attribute(caller, "lineno")
        same = _place(code), line if type(line) is int else 0
        node = above.inside.get(same)
        if node is None:
            tree.nodes += 1
            if tree.nodes > _MOST:
                node = above
            else:
                node = above.inside[same] = _TracedNode(*same)
        node.calls += node is not above
        tree.open.append(_Open(node, now))


def _root(translator: Any) -> types.CodeType | None:
    """The code of the function that is compiled."""
    for _ in range(1000):
        above = attribute(translator, "parent")
        if above is None:
            break
        translator = above
    code = attribute(translator, "f_code")
    return code if isinstance(code, types.CodeType) else None


def _place(code: types.CodeType) -> _Place:
    return qualified_name(code), code.co_filename, code.co_firstlineno


def _calls(tree: _TracedTree) -> tuple[TracedCall, ...]:
    calls = tuple(_flat(tree.root, 0))
    return calls if len(calls) > 1 else ()


def _flat(node: _TracedNode, depth: int) -> Iterator[TracedCall]:
    inside = sorted(node.inside.values(), key=lambda one: (-one.seconds, one.at))
    kept = [one for one in inside if one.seconds >= _SHORTEST]
    seconds = node.seconds if depth else sum(one.seconds for one in inside)
    function, file, line = node.place
    yield TracedCall(depth, function, file, line, node.at, node.calls, round(seconds, 6))
    for one in kept:
        yield from _flat(one, depth + 1)
