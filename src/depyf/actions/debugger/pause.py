"""The pause of ``depyf.debug()``: say where the files are, and let the user set breakpoints.

A debugger that is there (pdb, an IDE, ``PYTHONBREAKPOINT``) or a terminal gets ``breakpoint()``.  Without
either, or with ``DEPYF_NO_PAUSE`` set, the run goes on: a batch job must not wait for input that cannot come.
"""

from __future__ import annotations

import ast
import os
import re
import sys
import sysconfig
import types
from collections.abc import Callable, Sequence
from pathlib import Path

from depyf.actions.debugger.program_pdb import attached, hooked, pdb_in_caller
from depyf.safety.guarded import say
from depyf.safety.unheard import parse


def should_pause() -> bool:
    """Whether a stop has a prompt: a terminal or a debugger is there, and the environment does not say otherwise."""
    if _asked_not_to():
        return False
    if _debugger_traces() or os.environ.get("PYTHONBREAKPOINT") or _under_bdb():
        return True
    if hooked() and attached():
        return True
    return sys.stdin is not None and sys.stdin.isatty()


def _debugger_traces() -> bool:
    """Is what traces this thread a debugger?  A tool for coverage, say, would not stop."""
    traces = sys.gettrace()
    owner = type(getattr(traces, "__self__", None))
    names = [getattr(traces, "__module__", None), *(cls.__module__ for cls in owner.__mro__), type(traces).__module__]
    return traces is not None and any(str(name).startswith(_DEBUGGERS) for name in names)


_DEBUGGERS = ("bdb", "pdb", "pydevd", "_pydevd", "debugpy", "depyf", "pudb")
"""Modules of debuggers, and what the names of their modules begin with."""


def _asked_not_to() -> bool:
    return os.environ.get("DEPYF_NO_PAUSE", "") not in ("", "0") or os.environ.get("PYTHONBREAKPOINT") == "0"


def how_to_stop() -> str:
    """The advice for an environment where nothing can stop: it has no terminal, and no debugger is connected."""
    here = "turn on the notebook's debugger, or " if "ipykernel" in sys.modules else "run it in a terminal, or "
    return (
        "there is no terminal and no debugger here, so nothing stops: "
        f"{here}connect a debugger (debugpy.listen(5678), then attach from the editor), and enter the block again"
    )


def _under_bdb() -> bool:
    """Was the program started by pdb or its like?  It stops tracing while no breakpoint is set."""
    frame = sys._getframe()
    while frame.f_back is not None:
        frame = frame.f_back
        if frame.f_code.co_name == "run" and frame.f_globals.get("__name__") == "bdb":
            return True
    return False


_LEVEL_FILES = {
    "graph": "__compiled_fn_*.Captured_Graph.*.py",
    "aot": "__compiled_fn_*.Forward_graph.*.py and __compiled_fn_*.Backward_graph.*.py",
    "wrapper": "__compiled_fn_*.kernel_*.py",
    "kernel": "__compiled_fn_*.kernel_*.py (wrappers) and __compiled_fn_*.kernel_*.NAME.py (Triton kernels)",
}


def pause(
    directory: str,
    steppable: Sequence[str],
    level: str | None,
    followed: bool,
    ahead: Sequence[str] = (),
    ahead_as_it_is: Sequence[str] = (),
) -> None:
    """Print where to look; then wait in the debugger, where there is a user.  ``followed``: breakpoints in
    the page of a dispatcher and in what Dynamo made stop.  ``ahead``: functions that were compiled ahead of time and
    run as lines of the dump, ``ahead_as_it_is``: those of which only graphs do."""
    lines = [f"depyf: the code torch.compile runs is in {directory}"]
    if level is not None:
        lines.append(
            f"depyf: everything is compiled again at level {level!r}: breakpoints in {_LEVEL_FILES[level]} stop"
        )
    else:
        lines += [
            "depyf: read full_code_for_*.py first: "
            + _what_stops(followed, len(steppable))
            + (":" if steppable else "."),
            *(f"depyf:   {name}" for name in sorted(steppable, key=_by_number)),
        ]
    lines += [f"depyf: {text}" for text in _ahead_of_time(level, ahead, ahead_as_it_is)]
    if not should_pause():
        say("\n".join([*lines, *([] if _asked_not_to() else [f"depyf: {how_to_stop()}"])]), out=True)
        return
    say("\n".join([*lines, "depyf: set breakpoints now, then continue (pdb: `b FILE:LINE`, `c`)."]), out=True)
    stop()


def _ahead_of_time(level: str | None, stepped: Sequence[str], others: Sequence[str]) -> list[str]:
    """What stops of functions that were compiled ahead of time: torch looks for no code when they are called, and asks
    their guards in Python."""
    both = [*stepped, *others]
    if level is not None:
        said = "not again: breakpoints in full_code_for_*.py stop when it is called, and no others"
        return [f"{_were(both)} compiled ahead of time, and {said}"] if both else []
    lines = []
    if stepped:
        lines.append(
            f"{_were(stepped)} compiled ahead of time: breakpoints in full_code_for_*.py stop when it is called, "
            "those in __transformed_code_*.py when that code runs"
        )
    if others:
        lines.append(
            f"{_were(others)} compiled ahead of time: breakpoints in full_code_for_*.py stop when it is called, "
            "and those in the graphs when they run"
        )
    return lines


def _were(names: Sequence[str]) -> str:
    return f"{', '.join(names)} {'was' if len(names) == 1 else 'were'}"


def _what_stops(followed: bool, files: int) -> str:
    if not followed:
        return (
            f"breakpoints in {_files(files)} stop when that code runs"
            if files
            else "no breakpoint in a file of it stops here"
        )
    return (
        "breakpoints in it stop whenever torch looks for compiled code, "
        "those in __transformed_code_*.py when that code runs"
        + (f", and so do those in {_files(files)}" if files else "")
    )


def _files(number: int) -> str:
    return f"{number} __compiled_fn_* file{'s' * (number != 1)}"


def _by_number(name: str) -> list[tuple[int, str]]:
    """Numbers in a name count as numbers."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name)]


def pause_for_new_file(path: str) -> None:
    """A file came into being while the program ran: let the user set breakpoints in it before it runs."""
    say(f"depyf: what is about to run is in {path}", out=True)
    if should_pause():
        say("depyf: set breakpoints in it now, then continue.", out=True)
        stop()


def stop() -> None:
    """``breakpoint()``; where that means pdb, a pdb whose ``step`` passes over the machinery of torch and depyf."""
    _in_program(sys._getframe())(stopper())


def stopper() -> Callable[[], None]:
    """A function that stops in its caller: ``breakpoint`` for an IDE or ``PYTHONBREAKPOINT``, else depyf's pdb."""
    if (hooked() and attached()) or os.environ.get("PYTHONBREAKPOINT"):
        return breakpoint
    return pdb_in_caller


_LIBRARIES = tuple(sysconfig.get_paths()[name] for name in ("stdlib", "purelib", "platlib"))


def _in_program(frame: types.FrameType) -> Callable[[Callable[[], None]], None]:
    """A function that calls its argument, at the innermost line of the program itself in the stack of ``frame``.

    An IDE that debugs "just my code" does not stop in a library, and that is what depyf is to it.
    """
    found: types.FrameType | None = frame
    while found is not None and (
        found.f_code.co_filename.startswith((*_LIBRARIES, str(Path(__file__).parents[2]), "<"))
        and found.f_code.co_filename != "<stdin>"
    ):
        found = found.f_back
    place = found or frame
    tree = parse("def depyf_debug(stop):\n    stop()\n    return None\n")
    for node in ast.walk(tree):
        if isinstance(node, (ast.stmt, ast.expr, ast.arg)):  # the stop is shown at the statement after the call
            line = place.f_lineno - (not isinstance(node, ast.Return))
            node.lineno = node.end_lineno = max(line, 1)
    module = compile(tree, place.f_code.co_filename, "exec", dont_inherit=True)
    code = next(const for const in module.co_consts if isinstance(const, types.CodeType))
    return types.FunctionType(code, place.f_globals)
