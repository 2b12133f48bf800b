"""The running lines, or those of an error, and which of them are the program's.

Input: a frame or an exception.  Output: code objects with line numbers, and ``Place`` records; no frame is kept.
"""

from __future__ import annotations

import linecache
import types
from collections.abc import Iterator

from depyf.decompiler.bytecode.host.written_names import qualified_name
from depyf.run.installed_files import installed
from depyf.run.places.place import Place
from depyf.safety.source_lines import source_line
from depyf.sources.reports.library_files import of_libraries

LONGEST_LINE = 160
"""Characters of a line of source that are kept."""
_DEPTH = 200

Running = tuple[types.CodeType, int]


def running(frame: types.FrameType | None) -> Iterator[Running]:
    """The current line of ``frame`` and of each of its callers, the innermost first."""
    for _ in range(_DEPTH):
        if frame is None:
            return
        yield frame.f_code, frame.f_lineno or 0
        frame = frame.f_back


def traced(error: BaseException) -> Iterator[Running]:
    """The lines in the traceback of ``error``, the innermost last."""
    traceback = error.__traceback__
    while traceback is not None:
        yield traceback.tb_frame.f_code, traceback.tb_lineno
        traceback = traceback.tb_next


def of_program(lines: Iterator[Running]) -> Iterator[Running]:
    """The lines that belong to no library."""
    for code, line in lines:
        if not of_libraries(code.co_filename) and not installed(code.co_filename):
            yield code, line


def place_of(code: types.CodeType, line: int) -> Place:
    """The place of a line, with its text where the source can be read.  Nothing stays in ``linecache``."""
    known = code.co_filename in linecache.cache
    text = source_line(code.co_filename, line)[:LONGEST_LINE]
    if not known:
        linecache.cache.pop(code.co_filename, None)
    return Place(code.co_filename, line, qualified_name(code), text)
