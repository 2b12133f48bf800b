"""Sees the calls of compiled graphs that raise, so that their inputs can be kept, too: ``prepare_debug(record=...)``.

Input: the code that Dynamo made, while it is made.  Each ``__compiled_fn_*`` global that it calls is replaced by a
function that calls it, until ``stop``.  Invariant: results, exceptions and the lifetimes of arguments are those of the
compiled graph; the traceback of an exception has two more frames.  Globals of a dead function are not kept alive.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from typing import Any

from depyf.run.global_names import COMPILED_FN
from depyf.safety.guarded import Door, warn
from depyf.sources.live.pure_access import is_a

_DEPTH = 24
_COMPILER = "torch._dynamo.convert_frame"
Told = Callable[[int, "tuple[Any, ...]", BaseException], None]
"""Is given the number of the graph in its function, the arguments and the error."""


class FailedCalls:
    """Replaces graphs in the globals by functions that report a call which raises."""

    def __init__(self) -> None:
        self._replaced: list[tuple[dict[str, Any], str, Any, Any]] = []

    def watch(self, made: types.CodeType, told: Told, scope: dict[str, Any] | None = None) -> None:
        """Report the first call of each graph of ``made`` that raises to ``told``.  ``scope``: the globals with the
        graphs; None while Dynamo is making ``made``."""
        from torch._dynamo import disable

        names = [name for name in made.co_names if COMPILED_FN.match(name)]
        if scope is None:
            scope = _globals_with(names) if names else None
        elif not all(name in scope for name in names):
            scope = None
        for position, name in enumerate(names if scope is not None else ()):
            assert scope is not None
            compiled = scope[name]
            watched = disable(_watched(compiled, position, told))
            scope[name] = watched
            self._replaced.append((scope, name, watched, compiled))

    def stop(self) -> None:
        """Restore the globals that still hold a replacement."""
        replaced, self._replaced = self._replaced, []
        for scope, name, watched, compiled in replaced:
            if scope.get(name) is watched:
                scope[name] = compiled


def _watched(compiled: Callable[..., Any], position: int, told: Told) -> Callable[..., Any]:
    heard = False

    def call(*args: Any) -> Any:
        nonlocal heard
        try:
            return compiled(*args)
        except Exception as error:
            if not heard:
                heard = True
                with Door("depyf: the inputs of a call that failed could not be kept", warn):
                    told(position, args, error)
            raise

    return call


def _globals_with(names: list[str]) -> dict[str, Any] | None:
    """The globals of the function that Dynamo is compiling, from its frames."""
    frame: types.FrameType | None = sys._getframe(1)
    for _ in range(_DEPTH):
        if frame is None:
            return None
        code = frame.f_code
        named = "globals" in code.co_varnames + code.co_cellvars + code.co_freevars
        if named and frame.f_globals.get("__name__") == _COMPILER:
            found: Any = frame.f_locals.get("globals")
            if is_a(found, dict) and all(name in found for name in names):
                scope: dict[str, Any] = found
                return scope
        frame = frame.f_back
    return None
