"""The pdb that ``depyf.debug()`` starts: for the program and the dump, in all threads, not for the machinery of torch.

It knows the commands of pdb; what differs is where ``step`` stops, which frames ``where`` and ``up`` show, and that
breakpoints are hit in other threads: those that start while it is on, and those that call a compiled function.
"""

from __future__ import annotations

import atexit
import os
import pdb
import sys
import threading
import types
from collections.abc import Callable
from typing import Any

from depyf.run.global_names import RESUME
from depyf.safety.guarded import Door, guarded

MACHINERY = (
    "contextlib", "functools", "importlib.*", "random", "re", "re.*", "threading", "depyf.*", "torch._dynamo.*",
    "torch._functorch.*", "torch._compile", "torch._guards", "torch._inductor.compile_fx",
    "torch._inductor.output_code", "torch._inductor.utils", "torch.autograd.*", "torch.compiler", "torch.fx.*",
    "torch.nn.modules.module", "torch.overrides", "torch.utils._*", "torch._utils_internal",
)  # fmt: skip
"""The modules between a line of the program, a dispatcher, a transformed function and a graph."""


class ProgramPdb(pdb.Pdb):
    """pdb, one prompt at a time; ``step`` and ``next`` stay in the thread whose prompt they were typed at."""

    _one_prompt = threading.RLock()

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named, skip=MACHINERY)  # type: ignore[misc]
        self._thread = threading.get_ident()
        self._before: Any = None
        """What traced new threads before; of use while ``_traces_threads``."""
        self._traces_threads = False
        self._at_next_line = False

    def stop_behind(self, frame: types.FrameType) -> None:
        """Stop at the next line after the current one of ``frame``, in every version of Python."""
        self._at_next_line = True
        self.set_trace(frame)
        self._at_next_line = False

    def set_stepinstr(self) -> None:
        """Since 3.13 ``set_trace`` stops at the next instruction, which is one of the same line."""
        if self._at_next_line:
            self.set_step()
        else:
            super().set_stepinstr()  # type: ignore[misc]

    def set_trace(self, frame: types.FrameType | None = None, **named: Any) -> None:
        """Stop in ``frame``, and from now on at breakpoints."""
        self._thread = threading.get_ident()
        if not self._traces_threads:
            self._traces_threads = True
            self._before = threading.gettrace()
            threading.settrace(self.trace_dispatch)
            _on.append(self)
        super().set_trace(frame or sys._getframe(1), **named)

    def set_continue(self) -> None:
        super().set_continue()
        if not self.breaks:
            self.leave_threads()

    def set_quit(self) -> None:
        super().set_quit()
        self.leave_threads()

    def leave_threads(self) -> None:
        """Restore how new threads are traced, unless other code has changed that since."""
        if self._traces_threads and threading.gettrace() == self.trace_dispatch:
            threading.settrace(self._before)
        self._traces_threads = False
        if self in _on:
            _on.remove(self)

    def trace_dispatch(self, frame: types.FrameType, event: str, arg: Any) -> Any:
        """As in ``bdb``.  An exception in the debugger is reported, and does not reach the traced program."""
        with Door("depyf: the debugger missed something"):
            return super().trace_dispatch(frame, event, arg)
        return None

    def trace_late(self, frame: types.FrameType, event: str, arg: Any) -> Any:
        """The trace function of a thread that ran before the pause; it takes itself off when this pdb has ended."""
        if self not in _on:
            sys.settrace(None)
            return None
        return self.trace_dispatch(frame, event, arg)

    def interaction(self, *args: Any, **named: Any) -> None:
        """The prompt; other threads that come to a breakpoint wait."""
        with self._one_prompt:
            self._thread = threading.get_ident()
            super().interaction(*args, **named)

    def do_debug(self, arg: str) -> Any:
        """As in ``pdb``, whose own class would step into the machinery."""
        ordinary = pdb.Pdb

        def made(*args: Any, **named: Any) -> ProgramPdb:
            pdb.Pdb = ordinary  # type: ignore[misc]
            return ProgramPdb(*args, **named)

        pdb.Pdb = made  # type: ignore[assignment, misc]
        try:
            return super().do_debug(arg)
        finally:
            pdb.Pdb = ordinary  # type: ignore[misc]

    do_debug.__doc__ = pdb.Pdb.do_debug.__doc__  # which `help debug` shows

    def user_return(self, frame: types.FrameType, return_value: Any) -> None:
        """As in ``pdb``; a step from here leads to what called ``frame``, machinery apart."""
        caller = frame.f_back
        while caller is not None and self._machinery(caller):
            caller = caller.f_back
        if caller is not None and caller.f_trace is None:
            caller.f_trace = self.trace_dispatch
        super().user_return(frame, return_value)

    def stop_here(self, frame: types.FrameType) -> bool:
        """As in ``bdb``; False in another thread, in functions that torch generates for itself, and in all that its
        compiler calls."""
        return (
            threading.get_ident() == self._thread
            and not _generated_by_torch(frame)
            and bool(super().stop_here(frame))
            and not _compiling(frame)
        )

    def get_stack(
        self, f: types.FrameType | None, t: types.TracebackType | None
    ) -> tuple[list[tuple[types.FrameType, int]], int]:
        """As in ``bdb``, without machinery around the frame where the program stands."""
        stack, position = super().get_stack(f, t)
        if t is not None:  # a traceback says how it came to an error: all of it
            return stack, position
        shown = [n for n, (frame, _) in enumerate(stack) if n == position or not self._machinery(frame)]
        return [stack[n] for n in shown], shown.index(position)

    def _machinery(self, frame: types.FrameType) -> bool:
        return self.is_skipped_module(str(frame.f_globals.get("__name__"))) or _generated_by_torch(frame)


_on: list[ProgramPdb] = []
"""Those that trace new threads."""


def join_thread() -> None:
    """Trace the running thread for the pdb that is on: it ran before the pause, and nothing traces it.

    No Python before 3.12 lets one thread trace another; this is called by the thread itself, on its way to compiled
    code.
    """
    if _on and sys.gettrace() is None:
        sys.settrace(_on[-1].trace_late)


def _generated_by_torch(frame: types.FrameType) -> bool:
    """AOTAutograd's functions around a graph (``subclass_codegen.py``), and a guard that Dynamo wrote as Python."""
    file = frame.f_code.co_filename
    return ":codegen(" in file or (file == "<string>" and frame.f_globals.keys() == {"G", "__builtins__"})


def _compiling(frame: types.FrameType) -> bool:
    """Does Dynamo compile, in the calls that lead to ``frame``?"""
    found: types.FrameType | None = frame
    while found is not None:
        if found.f_globals.get("__name__") == "torch._dynamo.convert_frame":
            return True
        found = found.f_back
    return False


class Breakpoints:
    """From ``start`` to ``stop``, ``breakpoint()`` in the program is a ``ProgramPdb``, where it would be a pdb.

    After ``breakpoint()`` in compiled code comes a graph break, and with it the compiler, which a pdb would step into.
    On ``stop`` a ``ProgramPdb`` that has breakpoints in ``directory`` only does not trace the program any more.
    """

    def __init__(self) -> None:
        self._before: Callable[..., Any] | None = None

    def start(self) -> None:
        if not hooked():
            self._before, sys.breakpointhook = sys.breakpointhook, program_breakpoint

    def stop(self, directory: str) -> None:
        if self._before is not None and sys.breakpointhook is program_breakpoint:
            sys.breakpointhook = self._before
        self._before = None
        debugger = getattr(sys.gettrace(), "__self__", None)
        if isinstance(debugger, ProgramPdb) and not _steps(debugger):
            place = os.path.join(os.path.realpath(directory), "")
            if all(os.path.realpath(file).startswith(place) for file in debugger.breaks):
                end(debugger)


def _steps(debugger: pdb.Pdb) -> bool:
    """Did the user step last, rather than continue?"""
    return bool(debugger.stoplineno != -1 or debugger.stopframe is not debugger.botframe)


def program_breakpoint(*args: Any, **kwargs: Any) -> Any:
    """A ``sys.breakpointhook``."""
    if args or kwargs.keys() - {"header"} or os.environ.get("PYTHONBREAKPOINT"):
        return sys.__breakpointhook__(*args, **kwargs)
    frame = sys._getframe(1)
    with Door("depyf: no stop at this breakpoint"):
        debugger = _made()
        if kwargs.get("header") is not None:
            debugger.message(kwargs["header"])
        # in code that Dynamo wrote, the variables are in the function after the graph break: the stop is there
        (debugger.stop_behind if _resumed(frame.f_code) else debugger.set_trace)(frame)
    return None


def _resumed(code: types.CodeType) -> bool:
    """Does it call what is left of a function after a graph break?"""
    return any(name.startswith(RESUME) for name in code.co_names)


def hooked() -> bool:
    """Has an IDE put its own debugger in the place of pdb?"""
    return sys.breakpointhook not in (sys.__breakpointhook__, program_breakpoint)


def attached() -> bool:
    """Is a front end connected to the debugger that ``sys.breakpointhook`` belongs to?

    A Jupyter kernel, and what has called ``debugpy.listen``, has the hook also while nothing is connected: then
    ``breakpoint()`` does nothing.  Of hooks of others this is not known; they count as connected.
    """
    if not str(getattr(sys.breakpointhook, "__module__", "")).startswith(("debugpy", "pydevd", "_pydev")):
        return True
    asks = getattr(sys.modules.get("pydevd"), "_is_attached", None)
    asks = asks or getattr(sys.modules.get("debugpy"), "is_client_connected", None)
    return bool(asks()) if callable(asks) else True


def pdb_in_caller() -> None:
    """A ``ProgramPdb`` at the line after the call."""
    _made().stop_behind(sys._getframe(1))


def _made() -> ProgramPdb:
    debugger = ProgramPdb()
    # at the end of the process modules are taken apart, the one too by which ``skip`` is looked up
    atexit.register(end, debugger)
    return debugger


@guarded("the debugger could not be ended")
def end(debugger: ProgramPdb) -> None:
    """Trace nothing for ``debugger`` any more."""
    debugger.leave_threads()
    if getattr(sys.gettrace(), "__self__", None) is debugger:
        sys.settrace(None)
