"""Keep Dynamo away from what a debugger runs at a stop: its own functions, and what the user types at its prompt.

Inside a transformed function torch is ready to compile every function that is called; a debugger that stops there shows
variables and evaluates expressions on the same thread.  While ``AtAStop`` is on, frames beneath a debugger's are not
compiled, this time; what was compiled before runs as ever, and nothing is remembered about them.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from typing import Any

_DEBUGGERS = ("pydevd", "_pydevd", "_pydev_", "debugpy")
_RUNNERS = frozenset(
    # the functions of debuggers beneath which the program itself runs
    "run runeval runctx runcall main execfile run_file run_module run_code _exec _run _runscript _runmodule __call__ "
    "_run_module_as_main new_func run_script cli".split()
)


class AtAStop:
    """From ``start`` to ``stop``."""

    def __init__(self) -> None:
        self._before: Callable[..., Any] | None = None
        self._ours: Callable[..., Any] | None = None

    def start(self) -> None:
        from torch._dynamo.convert_frame import CatchErrorsWrapper

        compile_frame: Callable[..., Any] = CatchErrorsWrapper.__call__

        def call(wrapper: Any, frame: Any, *rest: Any, **named: Any) -> Any:
            if beneath_a_debugger(frame.f_code, frame.f_globals, sys._getframe(1)):
                answer = not_this_time(frame.f_code)
                if answer is not _COMPILE:
                    return answer
            return compile_frame(wrapper, frame, *rest, **named)

        self._before, self._ours = compile_frame, call
        CatchErrorsWrapper.__call__ = call

    def stop(self) -> None:
        from torch._dynamo.convert_frame import CatchErrorsWrapper

        if self._before is not None and CatchErrorsWrapper.__call__ is self._ours:
            CatchErrorsWrapper.__call__ = self._before
        self._before = self._ours = None


_COMPILE = object()


def not_this_time(code: types.CodeType) -> Any:
    """torch's word for: run this frame and what it calls as Python, now; ``_COMPILE`` where it has none."""
    try:
        from torch._dynamo.types import ConvertFrameReturn, FrameAction, FrameExecStrategy

        return ConvertFrameReturn(
            frame_exec_strategy=FrameExecStrategy(FrameAction.SKIP, FrameAction.SKIP), apply_to_code=False
        )
    except (ImportError, TypeError):  # torch 2.6 knows "never" only, which is right for what is no part of the program
        return None if code.co_filename.startswith("<") or _belongs_to_debugger(code.co_filename) else _COMPILE


def _belongs_to_debugger(filename: str) -> bool:
    return any(part in filename for part in ("/pydevd", "/_pydev", "/debugpy/", "/bdb.py", "/pdb.py", "/pprint.py"))


def beneath_a_debugger(code: types.CodeType, scope: dict[str, Any], caller: types.FrameType | None) -> bool:
    """Does a frame of ``code``, called by ``caller``, belong to a debugger that has stopped the program?"""
    if _debugger(scope):
        return code.co_name not in _RUNNERS
    frame = caller
    while frame is not None:
        if _debugger(frame.f_globals):
            return frame.f_code.co_name not in _RUNNERS
        frame = frame.f_back
    return False


def _debugger(scope: dict[str, Any]) -> bool:
    name = scope.get("__name__")
    return isinstance(name, str) and (name in ("bdb", "pdb") or name.startswith(_DEBUGGERS))
