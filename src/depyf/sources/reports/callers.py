"""The frames that run while torch compiles a function: who called it.

Input: frames that were looked at while torch compiled, or what torch keeps of them.  Output: plain frames, the
outermost first, and folded to those that matter: functions that Dynamo saw, and between them one line of the program.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from depyf.decompiler.bytecode.host.written_names import written_name
from depyf.run.places.place import Place
from depyf.run.records import CallerRecord
from depyf.sources.reports.library_files import of_libraries

_THIRD_PARTY = ("/site-packages/", "/dist-packages/")
_KEPT = re.compile(r"Line: (?P<line>\d+), Name: (?P<name>.*), Filename: (?P<file>.*)", re.S)
_LONGEST = 160


@dataclass(frozen=True, slots=True)
class RunningFrame:
    """One frame; ``first`` is the first line of its function, 0 where that is not known; "" as ``qualname``
    likewise."""

    name: str
    qualname: str
    filename: str
    first: int
    line: int

    @property
    def code(self) -> tuple[str, str, int]:
        """The file, name and first line that identify the code object."""
        return self.filename, self.name, self.first


def kept_frames(texts: Iterable[object]) -> tuple[RunningFrame, ...]:
    """The stack that torch keeps of a compilation, the outermost first, without the function that is compiled."""
    matches = [match for text in texts if (match := _KEPT.fullmatch(str(text))) is not None]
    return tuple(RunningFrame(m["name"], m["name"], m["file"], 0, int(m["line"])) for m in matches)[:-1]


def folded(
    frames: Iterable[RunningFrame],
    function_of: Callable[[RunningFrame], tuple[int, str] | None],
    line_of: Callable[[str, int], str],
) -> tuple[CallerRecord, ...]:
    """The frames of functions that Dynamo saw, and before, between and after them the program's innermost one.

    A function that calls itself stands once, where it was called first; ``line_of`` reads a line of source.
    """
    path: list[CallerRecord] = []
    at: dict[tuple[int, str], int] = {}
    between: RunningFrame | None = None
    for frame in frames:
        function = function_of(frame)
        if function is None:
            if not of_libraries(frame.filename) and (
                between is None or _of_the_program(frame) or not _of_the_program(between)
            ):
                between = frame
            continue
        if between is not None:
            path.append(CallerRecord(_place(between, line_of)))
            between = None
        if (known := at.get(function)) is not None:
            for caller in path[known:]:
                if caller.function is not None:
                    del at[caller.function]
            del path[known:]
        at[function] = len(path)
        path.append(CallerRecord(_place(frame, line_of), function))
    if between is not None:
        path.append(CallerRecord(_place(between, line_of)))
    return tuple(path)


def _of_the_program(frame: RunningFrame) -> bool:
    return not any(part in frame.filename for part in _THIRD_PARTY)


def _place(frame: RunningFrame, line_of: Callable[[str, int], str]) -> Place:
    name = frame.qualname or written_name(frame.filename, frame.first, frame.name)  # read for the shown ones alone
    return Place(frame.filename, frame.line, name, line_of(frame.filename, frame.line).strip()[:_LONGEST])
