"""The stack of the program at a graph break: which lines led there, and what was being evaluated.

Input: the part of torch's report that begins with ``User code traceback:``, and the frames that torch keeps with its
error. Output: frames, outermost first.  A frame of a dumped file (depyf's text of Dynamo's code) is shown as the
program's line.

The report alone is too little: of two frames in a row that have one name (``forward`` calls ``forward``) it has the
inner one.
"""

from __future__ import annotations

import linecache
import os
from dataclasses import dataclass, replace

from depyf.errors import DepyfError
from depyf.run.global_names import GRAPH, TRANSFORMED, resumed
from depyf.run.places.place import Place
from depyf.run.places.stack_text import frame_in
from depyf.run.places.where import where_is
from depyf.safety.unheard import parse


@dataclass(frozen=True, slots=True)
class StackFrame:
    """One frame: where it stands, and the part of its line that carets mark ("" where none do)."""

    place: Place
    expression: str = ""


@dataclass(frozen=True, slots=True)
class TracedFrame:
    """A frame that Dynamo traced, as torch keeps it; columns are offsets in bytes, -1 where they are not known."""

    filename: str
    line: int
    name: str
    column: int = -1
    end_column: int = -1


@dataclass(frozen=True, slots=True)
class BrokenAt:
    """Facts on a graph break that are not in torch's report."""

    module: str = ""
    """The module in whose ``forward`` it happened."""
    traced: tuple[TracedFrame, ...] = ()
    """From the compiled function to the line that broke."""


NOTHING_KNOWN = BrokenAt()


def traced_frames(traced: tuple[TracedFrame, ...]) -> list[StackFrame]:
    """The traced frames with their source lines, without those of torch."""
    found = []
    for frame in traced:
        line = linecache.getline(frame.filename, frame.line).rstrip("\n")
        rest = resumed(frame.name)
        place = Place(frame.filename, frame.line, rest[0] if rest else frame.name, line.strip())
        marked = line.encode()[frame.column : frame.end_column] if 0 <= frame.column < frame.end_column else b""
        found += _of_program(StackFrame(place, marked.decode("utf-8", "replace")))
    return found


def _of_program(frame: StackFrame) -> list[StackFrame]:
    """The frame; for one in a dumped file the program's line, where that is told."""
    name = os.path.basename(frame.place.filename)
    if name.startswith(GRAPH) and name.endswith(".py"):
        return []  # the line that calls it is in the stack, too
    if not name.startswith(TRANSFORMED):
        return [frame]
    original = _original(frame.place)
    return [] if original is None else [StackFrame(original)]


def frames_of(report: str) -> list[StackFrame]:
    """The frames of the report's stack."""
    _, _, stack = report.partition("User code traceback:")
    lines = stack.partition("\nTraceback ")[0].splitlines()
    found = []
    for number, line in enumerate(lines):
        frame = frame_in(line, indent=2)
        if frame is None:
            continue
        rest = lines[number + 1 : number + 3]
        text = rest[0].strip() if rest and rest[0].startswith("    ") else ""
        found += _of_program(StackFrame(replace(frame, text=text), _marked(*rest) if len(rest) == 2 and text else ""))
    return found


def _original(place: Place) -> Place | None:
    """The program's line for a line of a dumped file."""
    try:
        found = where_is(place.filename, place.line)
    except DepyfError:
        return None
    rest = resumed(place.function)
    function = rest[0] if rest else place.function
    return Place(found.user_file, found.user_line, function, found.user_code) if found.user_file else None


def _marked(line: str, carets: str) -> str:
    """The expression over the carets; "" where there are none, or where torch marks more than that."""
    if set(carets.strip()) - set("^~") or "^" not in carets:
        return ""
    start = len(carets) - len(carets.lstrip())
    marked = line[start : len(carets.rstrip())].strip()
    try:
        parse(marked, "eval")
    except (SyntaxError, ValueError, RecursionError):
        return ""
    return marked
