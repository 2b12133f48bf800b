"""The frames that run while torch compiles a function, looked at while torch reports that it begins.

Input: the stack of the thread.  Output: plain frames, the outermost first.  Code that stands in a dump, inside
``depyf.debug()``, is where the program has it.

torch's own stack of a compilation is no substitute: torch 2.13 counts frames to skip that are not there, and leaves out
the last two callers.
"""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Callable
from dataclasses import replace

from depyf.decompiler.bytecode.host.written_names import own_name
from depyf.run.places.two_places import place_in_program
from depyf.sources.reports.callers import RunningFrame
from depyf.sources.reports.library_files import of_libraries

_CONVERTS = "/torch/_dynamo/convert_frame.py"
_BESIDE = ("/torch/_dynamo/", "/torch/_utils_internal.py", "/contextlib.py", "/torch/utils/_contextlib.py")
"""What may run between the functions of torch that convert one frame."""


def running_frames(keep: Callable[[RunningFrame], bool]) -> tuple[RunningFrame, ...]:
    """The callers of the function whose compilation torch reports, the outermost first.  ``keep`` selects frames of
    libraries; () where torch does not compile."""
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None and not frame.f_code.co_filename.endswith(_CONVERTS):
        frame = frame.f_back
    while frame is not None and any(part in frame.f_code.co_filename for part in _BESIDE):
        frame = frame.f_back
    found: list[RunningFrame] = []
    while frame is not None:
        code = frame.f_code
        place = code.co_filename, code.co_firstlineno, frame.f_lineno or 0
        file, first, line = place_in_program(code, frame.f_lasti) or place
        one = _frame(code.co_name, own_name(code), file, first)
        if not of_libraries(file) or keep(one):
            found.append(replace(one, line=line))
        frame = frame.f_back
    return tuple(reversed(found))


@functools.lru_cache(maxsize=4096)
def _frame(name: str, qualname: str, filename: str, first: int) -> RunningFrame:
    return RunningFrame(name, qualname, filename, first, 0)
