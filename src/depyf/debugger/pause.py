"""The pause of ``depyf.debug()``: say where the files are, and let the user set breakpoints.

A debugger that is there (pdb, an IDE, ``PYTHONBREAKPOINT``) or a terminal gets ``breakpoint()``.  Without
either, or with ``DEPYF_NO_PAUSE`` set, the run goes on: a batch job must not wait for input that cannot come.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence


def should_pause() -> bool:
    if os.environ.get("DEPYF_NO_PAUSE", "") not in ("", "0"):
        return False
    if os.environ.get("PYTHONBREAKPOINT") == "0":
        return False
    if sys.gettrace() is not None or os.environ.get("PYTHONBREAKPOINT") or _under_bdb():
        return True
    if sys.breakpointhook is not sys.__breakpointhook__:  # an IDE has put its own debugger there
        return True
    return sys.stdin is not None and sys.stdin.isatty()


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
}


def pause(directory: str, steppable: Sequence[str], level: str | None) -> None:
    """Print where to look; then wait in the debugger, where there is somebody to wait for."""
    lines = [f"depyf: the code torch.compile runs is in {directory}"]
    if level is not None:
        lines.append(
            f"depyf: everything is compiled again at level {level!r}: breakpoints in {_LEVEL_FILES[level]} stop"
        )
    else:
        lines += [
            "depyf: read full_code_for_*.py first; breakpoints in __transformed_code_*.py stop when that code runs"
            + (f", and so do those in {len(steppable)} __compiled_fn_* file(s):" if steppable else "."),
            *(f"depyf:   {name}" for name in steppable),
        ]
    if not should_pause():
        print("\n".join(lines))
        return
    print("\n".join([*lines, "depyf: set breakpoints now, then continue (pdb: `b FILE:LINE`, `c`)."]))
    breakpoint()


def pause_for_new_file(path: str) -> None:
    """A file came into being while the program ran: let the user set breakpoints in it before it runs."""
    print(f"depyf: what is about to run is in {path}")
    if should_pause():
        print("depyf: set breakpoints in it now, then continue.")
        breakpoint()
