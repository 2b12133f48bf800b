"""While edits are in force, torch compiles with backends of ours that hand over to the program's own.

``torch.compile`` gives torch's frame evaluation a callback; which one applies is asked at each call of a compiled
function (``torch._dynamo.eval_frame._callback_from_stance``).  There the callback is exchanged for one with a backend
of ours, one for each backend of the program.  Torch keeps cache entries apart by backend: entries of the program are
neither used nor lost, and ours are taken out of the cache at the end.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

from depyf.actions.debugger.stepping.levels import drop_entries, outliving
from depyf.safety.guarded import Door, say
from depyf.sources.live.caches.entries import cache_entries
from depyf.sources.live.target import innermost_backend

OnFrame = Callable[[types.CodeType, dict[str, Any], Callable[[], Any]], Any]
"""(code that torch is about to compile, its variables, what compiles it) -> what that returned."""
Compiler = Callable[[Callable[..., Any], Any, Any], Any]
"""(backend of the program, graph, example inputs) -> what the backend returned."""


class ProgramBackends:
    """Between ``start`` and ``stop``, each frame is compiled through ``on_frame``, each graph through ``compiler``."""

    def __init__(self, on_frame: OnFrame, compiler: Compiler) -> None:
        self._on_frame, self._compiler = on_frame, compiler
        self._before: Callable[..., Any] | None = None
        self._backends: list[tuple[Any, Callable[..., Any], Callable[[], None]]] = []
        """Backend of the program, ours, and what makes torch's entries let go of it."""
        self._callbacks: dict[int, tuple[Any, Any]] = {}
        self._codes: dict[int, tuple[types.CodeType, frozenset[str]]] = {}

    def start(self) -> None:
        from torch._dynamo import eval_frame

        before = self._before = eval_frame._callback_from_stance

        def callback_from_stance(callback: Any) -> Any:
            found = before(callback)
            if self._before is None or found is None or isinstance(found, bool):
                return found
            with Door("depyf: no edited file is used here", say):
                return self._exchanged(found)
            return found

        eval_frame._callback_from_stance = callback_from_stance

    def stop(self) -> None:
        from torch._dynamo import eval_frame

        before, self._before = self._before, None
        if before is not None:
            eval_frame._callback_from_stance = before
        for code, known in self._codes.values():
            for _, backend, _ in self._backends:
                drop_entries(code, backend, known)
        for _, _, let_go in self._backends:
            let_go()
        self._backends, self._callbacks, self._codes = [], {}, {}

    def _exchanged(self, callback: Any) -> Any:
        """``callback`` with a backend of ours in the place of the program's."""
        known = self._callbacks.get(id(callback))
        if known is None:
            self._callbacks[id(callback)] = known = callback, self._made(callback)
        return known[1]

    def _made(self, callback: Any) -> Any:
        from torch._dynamo import convert_frame

        convert = next(
            (
                found
                for link in ("_torchdynamo_orig_backend", "_torchdynamo_orig_callable")
                if (found := getattr(callback, link, None))
            ),
            None,
        )
        clone = getattr(convert, "_clone_with_backend", None)
        own = innermost_backend(callback)
        if clone is None or own is None or not hasattr(callback, "hooks"):
            return callback  # no callback of torch.compile
        inner: Any = convert_frame.catch_errors_wrapper(clone(self._backend_for(own)), callback.hooks)

        @functools.wraps(inner)
        def compile_frame(frame: Any, *args: Any, **kwargs: Any) -> Any:
            if self._before is None:
                return callback(frame, *args, **kwargs)
            code = frame.f_code
            if id(code) not in self._codes:
                self._codes[id(code)] = code, frozenset(entry.compile_id for entry in cache_entries(code))
            return self._on_frame(code, frame.f_locals, lambda: inner(frame, *args, **kwargs))

        for link in ("_torchdynamo_orig_backend", "_torchdynamo_orig_callable"):
            if hasattr(inner, link):
                setattr(compile_frame, link, getattr(inner, link))
        return compile_frame

    def _backend_for(self, own: Any) -> Callable[..., Any]:
        for known, ours, _ in self._backends:
            if known is own or (type(known) is type(own) and "Inductor" in type(own).__name__ and known == own):
                return ours

        def compile_graph(gm: Any, example_inputs: Any) -> Any:
            return self._compiler(own, gm, example_inputs)

        ours, let_go = outliving(compile_graph)
        self._backends.append((own, ours, let_go))
        return ours
