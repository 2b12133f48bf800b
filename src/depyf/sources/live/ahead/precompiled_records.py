"""What ``torch.compiler.precompile`` captured and loaded while this was recorded.

Input: a capture of ours, and what lived when it began.  Output: records and graphs of each capture of one graph,
functions and entries of each loaded artefact of frames.

How: a capture of one graph is seen when torch looks up the method that writes it. A descriptor stands in its place, so
that no frame of ours is in the call; what was loaded is found at the end, among what lives.
"""

from __future__ import annotations

import gc
import os
import sys
import types
import weakref
from collections.abc import Callable, Iterator, Set
from typing import TYPE_CHECKING, Any

from depyf.decompiler.bytecode.host.written_names import qualified_name
from depyf.run.compile_stages import CAPTURED
from depyf.run.global_names import PRECOMPILED
from depyf.run.made import Made
from depyf.run.places.place import Place
from depyf.run.program_calls.precompiled_graphs import PrecompiledGraph
from depyf.safety.guarded import Door
from depyf.sources.live.ahead.ahead_functions import name_ahead
from depyf.sources.live.ahead.one_graph import graph_of_capture, one_graph_of
from depyf.sources.live.ahead.precompiled import dispatch_of
from depyf.sources.live.caches.entries import LiveEntry
from depyf.sources.live.pure_access import attribute
from depyf.sources.live.resume import resume_globals
from depyf.sources.reports.builders import EntryBuilder

if TYPE_CHECKING:
    from depyf.sources.live.recording.capture import Capture

_MODULE = "torch._precompile"
_WRITES = "_write"
"""The method of a capture that writes what it has, once it has all."""
_PROBLEM = "what was precompiled could not be recorded"
_MOST = 1000


def _kind_of_capture() -> type | None:
    found = attribute(sys.modules.get(_MODULE), "_MakeFxCapture")
    return found if isinstance(found, type) else None


def precompiled_alive() -> list[Any]:
    """The live captures of one graph that were called, and the loaded artefacts."""
    module = sys.modules.get(_MODULE)
    kinds = {attribute(module, name) for name in ("_MakeFxCapture", "PrecompiledModule")} - {None}
    found = [one for one in gc.get_objects() if type(one) in kinds] if kinds else []
    return [one for one in found if _is_done(one)]


def _is_done(one: Any) -> bool:
    return attribute(one, "_loaded_forward") is not None or attribute(attribute(one, "_module"), "_gm") is not None


class _Seen:
    """In the place of a method: tells of each object on which that is looked up, and gives the method."""

    def __init__(self, own: Any, told: Callable[[Any], None]) -> None:
        self.own, self._told = own, told

    def __get__(self, one: Any, kind: type | None = None) -> Any:
        if one is not None:
            self._told(one)
        return self.own.__get__(one, kind)


class PrecompiledRecords:
    """Records the precompiled artefacts that are made or loaded during a recording."""

    def __init__(self, capture: Capture, add: Callable[[EntryBuilder, types.CodeType, LiveEntry], None]) -> None:
        """``add``: writes down the code of an entry that did not come to the hook."""
        self._capture, self._add = capture, add
        self._before: Set[int] = frozenset()
        self._found: list[tuple[weakref.ref[Any], PrecompiledGraph]] = []
        self._seen: _Seen | None = None

    def begin(self) -> None:
        self._before = {id(one) for one in precompiled_alive()}
        own = vars(kind).get(_WRITES) if (kind := _kind_of_capture()) is not None else None
        if type(own) is types.FunctionType:
            self._seen = _Seen(own, self._written)
            setattr(kind, _WRITES, self._seen)

    def stop(self) -> None:
        """Restore torch's class."""
        seen, kind = self._seen, _kind_of_capture()
        self._seen = None
        if seen is None or kind is None:
            return
        there: object = vars(kind).get(_WRITES)
        if there is seen:
            setattr(kind, _WRITES, seen.own)

    def records(self) -> tuple[PrecompiledGraph, ...]:
        """The records of all artefacts.  Call it at the end, before functions and graphs are frozen."""
        known = {id(reference()) for reference, _ in self._found}
        for one in precompiled_alive():
            if id(one) not in self._before and id(one) not in known:
                with Door(_PROBLEM, self._capture.note):
                    self._take(one)
        return tuple(record for _, record in self._found)

    def _written(self, one: Any) -> None:
        if self._capture.hears and not any(reference() is one for reference, _ in self._found) and _is_done(one):
            with Door(_PROBLEM, self._capture.note):
                self._take(one)
                self._capture.end_work(id(one))

    def _take(self, one: Any) -> None:
        self._found += [(weakref.ref(one), record) for record in self._of(one)]

    def _of(self, one: Any) -> Iterator[PrecompiledGraph]:
        if attribute(one, "_module") is not None:
            yield self._captured(one)
        elif dispatch_of(one) is not None:
            self._frames(one)
        else:
            graph = one_graph_of(one)
            if graph is not None:
                key = self._capture.key(self._capture.name_work(id(one), PRECOMPILED))
                yield PrecompiledGraph(key, graph.backend, True, checks=tuple(graph.checks()))

    def _captured(self, one: Any) -> PrecompiledGraph:
        module = one._module
        key = self._capture.key(self._capture.name_work(id(one), PRECOMPILED))
        text = module._gm.print_readable(print_output=False)
        self._capture.add_graph(key, CAPTURED, text)
        graph = graph_of_capture(module)
        code = attribute(module._fn, "__code__")
        place, name = None, ""
        if type(code) is types.CodeType:
            name = qualified_name(code, None)
            place = Place(code.co_filename, code.co_firstlineno, name)
        path = attribute(one, "_artifact_path")
        file = os.fspath(path) if isinstance(path, (str, os.PathLike)) else ""
        return PrecompiledGraph(key, graph.backend, False, name, place, tuple(graph.checks()), str(file))

    def _frames(self, runnable: Any) -> None:
        """The entry, and the resume functions that it leads to."""
        todo: list[Any] = [runnable]
        seen: set[int] = set()
        while todo and len(seen) < _MOST:
            function = todo.pop(0)
            dispatch = dispatch_of(function)
            if dispatch is None or id(dispatch.code) in seen:
                continue
            seen.add(id(dispatch.code))
            frame = self._capture.name_work(id(dispatch.code), "loaded").rpartition("/")[0]
            name_ahead(function, f"{frame}/0", Made.PRECOMPILED)
            for number, (manager, made) in enumerate(dispatch.variants):
                key = self._capture.key(f"{frame}/{number}")
                self._capture.begin(dispatch.code, key.text)
                self._capture.ahead[key.function] = weakref.ref(function)
                entry = LiveEntry(key.text, made, manager, dispatch.scope, None, Made.PRECOMPILED)
                builder = self._capture.entry(key)
                builder.backend = str(attribute(runnable, "_backend") or "")
                if builder.transformed is None:
                    self._add(builder, dispatch.code, entry)
                todo += [dispatch.scope.get(name) for name in resume_globals(made.co_names)]
