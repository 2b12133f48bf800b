"""Keeps Dynamo from compiling what a debugger runs at a stop: its own functions, and what the user types at its prompt.

Inside a transformed function torch is ready to compile every function that is called; a debugger that stops there shows
variables and evaluates expressions on the same thread.  While ``AtAStop`` is on, frames beneath a debugger's are not
compiled, this time; what was compiled before runs as ever, and nothing is remembered about them.
"""

from __future__ import annotations

import sys
import sysconfig
import types
from collections.abc import Callable
from typing import Any

from depyf.safety.guarded import Door

_STDLIB = sysconfig.get_paths()["stdlib"]


class AtAStop:
    """Between ``start`` and ``stop``, torch compiles no frame that a debugger calls at a stop."""

    def __init__(self) -> None:
        self._before: Callable[..., Any] | None = None
        self._ours: Callable[..., Any] | None = None
        self._calls: tuple[Callable[..., Any], Callable[..., Any]] | None = None
        """torch's function that is asked at each call of a compiled function, and ours."""

    def start(self) -> None:
        from torch._dynamo.convert_frame import CatchErrorsWrapper

        compile_frame: Callable[..., Any] = CatchErrorsWrapper.__call__

        def call(wrapper: Any, frame: Any, *rest: Any, **named: Any) -> Any:
            caller = sys._getframe(1)
            with Door("depyf: whether the program stands at a stop"):
                if beneath_a_stop(frame.f_code, frame.f_globals, caller):
                    answer = not_this_time(frame.f_code)
                    if answer is not _COMPILE:
                        _nothing_to_count()
                        return answer
            return compile_frame(wrapper, frame, *rest, **named)

        self._before, self._ours = compile_frame, call
        CatchErrorsWrapper.__call__ = call
        self._count_nothing()

    def _count_nothing(self) -> None:
        """On Python 3.12 torch does not look at frames that a trace function calls: they run as Python unasked."""
        from torch._dynamo import eval_frame

        ask: Callable[..., Any] | None = getattr(eval_frame, "_callback_from_stance", None)
        if ask is None or _set_count() is None:  # an older torch counts nothing, and 2.6 would compile our function
            return

        def asked(*args: Any) -> Any:
            frame = sys._getframe(1)
            with Door("depyf: whether the program stands at a stop"):
                if beneath_a_stop(frame.f_code, frame.f_globals, frame.f_back):
                    _nothing_to_count()
            return ask(*args)

        self._calls = ask, asked
        setattr(eval_frame, "_callback_from_stance", asked)  # noqa: B010 (torch's own type is narrower)

    def stop(self) -> None:
        from torch._dynamo.convert_frame import CatchErrorsWrapper

        if self._before is not None and CatchErrorsWrapper.__call__ is self._ours:
            CatchErrorsWrapper.__call__ = self._before
        self._before = self._ours = None
        from torch._dynamo import eval_frame

        if self._calls is not None and getattr(eval_frame, "_callback_from_stance", None) is self._calls[1]:
            setattr(eval_frame, "_callback_from_stance", self._calls[0])  # noqa: B010
        self._calls = None


_COMPILE = object()


def not_this_time(code: types.CodeType) -> Any:
    """torch's result for "run this frame and its callees as Python, this time"; ``_COMPILE`` where torch has none."""
    try:
        from torch._dynamo.types import ConvertFrameReturn, FrameAction, FrameExecStrategy

        return ConvertFrameReturn(
            frame_exec_strategy=FrameExecStrategy(FrameAction.SKIP, FrameAction.SKIP), apply_to_code=False
        )
    except (ImportError, TypeError):  # torch 2.6 knows "never" only, which is right for what is no part of the program
        return None if code.co_filename.startswith("<") or _belongs_to_debugger(code.co_filename) else _COMPILE


def _nothing_to_count() -> None:
    """With ``fullgraph=True`` torch counts the frames that a call compiled, and raises for none (2.12 and later)."""
    set_count = _set_count()
    if set_count is not None:
        set_count(-1)  # the end of the call sets it, too


def _set_count() -> Callable[[int], Any] | None:
    from torch._C._dynamo import eval_frame

    found: Callable[[int], Any] | None = getattr(eval_frame, "set_fullgraph_compiled_frame_count", None)
    return found


def _belongs_to_debugger(filename: str) -> bool:
    return any(part in filename for part in ("/pydevd", "/_pydev", "/debugpy/", "/bdb.py", "/pdb.py", "/pprint.py"))


def beneath_a_stop(code: types.CodeType, scope: dict[str, Any], caller: types.FrameType | None) -> bool:
    """Does a frame of ``code``, called by ``caller``, belong to a debugger that has stopped the program?

    A debugger's functions are in the stack for two reasons: it runs the program, or the program stopped and called it.
    pdb runs programs in functions of well-known names.  What runs the program in pydevd has no line of a program around
    it, for it is the program's beginning, or that of a thread.
    """
    if _is_pdb(scope) and not _runs(code):
        return True
    inside_pydevd = _is_pydevd(code, scope)
    frame = caller
    while frame is not None:
        if _is_pdb(frame.f_globals):
            if not _runs(frame.f_code):
                return True
        elif _is_pydevd(frame.f_code, frame.f_globals):
            inside_pydevd = True
        elif inside_pydevd and not _begins(frame.f_code):
            return True
        frame = frame.f_back
    return False


def _is_pdb(scope: dict[str, Any]) -> bool:
    return scope.get("__name__") in ("bdb", "pdb")


def _runs(code: types.CodeType) -> bool:
    """Is it one of the functions in which ``bdb`` and ``pdb`` run a program?"""
    return code.co_name.startswith(("run", "_run")) or code.co_name in ("main", "<module>")


def _is_pydevd(code: types.CodeType, scope: dict[str, Any]) -> bool:
    name = scope.get("__name__")
    if name == "__main__":  # the debugger is the script that Python was started with
        return any(part in code.co_filename for part in ("/pydevd", "/_pydev", "/debugpy/"))
    return isinstance(name, str) and name.startswith(("pydevd", "_pydevd", "_pydev_", "debugpy"))


def _begins(code: types.CodeType) -> bool:
    """Is it Python's own code, as what a program or a thread begins in?"""
    file = code.co_filename
    return file.startswith("<frozen ") or (file.startswith(_STDLIB) and "site-packages" not in file)
