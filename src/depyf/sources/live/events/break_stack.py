"""The stack of the program at a graph break: which lines led there, and what was being evaluated.

Input: the part of torch's report that begins with ``User code traceback:``, and the frames that torch keeps with its
error. Output: frames, outermost first.  A frame that runs a file of a dump (depyf's text of what Dynamo made) is shown
as the line of the program that it came from.

The report alone is too little: of two frames in a row that have one name (``forward`` calls ``forward``) it has the
inner one.
"""

from __future__ import annotations

import linecache
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass

from depyf.run.global_names import resumed
from depyf.run.records import Place

_FRAME = re.compile(r'^  File "(?P<file>[^"]+)", line (?P<line>\d+), in (?P<function>.+)$')
_OF_DUMP = re.compile(r"(?:^|[/\\])__(?:transformed_code|compiled_fn)_[^/\\]*\.py$")
_FROM = re.compile(r"  # (?P<file>[^\s:]+):(?P<line>\d+)(?:, .*)?$")
_BEGINS = re.compile(r"^(?:def|class) ")


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
    """What is known of a graph break while torch reports it, and is not in the report."""

    module: str = ""
    """The module in whose ``forward`` it happened."""
    traced: tuple[TracedFrame, ...] = ()
    """From the compiled function to the line that broke."""


NOTHING_KNOWN = BrokenAt()


def traced_stack() -> tuple[TracedFrame, ...]:
    """What Dynamo was tracing when the error was raised that it reports now; () where torch does not keep it."""
    kept = getattr(sys.exc_info()[1], "real_stack", None)
    found = []
    for frame in kept if isinstance(kept, list) else ():
        columns = getattr(frame, "colno", None), getattr(frame, "end_colno", None)
        found.append(
            TracedFrame(
                str(frame.filename), frame.lineno or 0, str(frame.name), *(-1 if c is None else c for c in columns)
            )
        )
    return tuple(found)


def traced_frames(traced: tuple[TracedFrame, ...], resolve: Callable[[str], str]) -> list[StackFrame]:
    """The same with their lines of source."""
    found = []
    for frame in traced:
        line = linecache.getline(frame.filename, frame.line).rstrip("\n")
        rest = resumed(frame.name)
        place = Place(frame.filename, frame.line, rest[0] if rest else frame.name, line.strip())
        marked = line.encode()[frame.column : frame.end_column] if 0 <= frame.column < frame.end_column else b""
        found += _of_program(StackFrame(place, marked.decode("utf-8", "replace")), resolve)
    return found


def _of_program(frame: StackFrame, resolve: Callable[[str], str]) -> list[StackFrame]:
    """The frame; for one in a dumped file the program's line, where that is told."""
    if not _OF_DUMP.search(frame.place.filename):
        return [frame]
    original = _original(frame.place, resolve)
    return [] if original is None else [StackFrame(original)]


def frames_of(report: str, resolve: Callable[[str], str] = lambda name: name) -> list[StackFrame]:
    """The frames of the report's stack; ``resolve`` gives the whole name of a file from the end of it."""
    _, _, stack = report.partition("User code traceback:")
    lines = stack.partition("\nTraceback ")[0].splitlines()
    found = []
    for number, line in enumerate(lines):
        match = _FRAME.match(line)
        if match is None:
            continue
        rest = lines[number + 1 : number + 3]
        text = rest[0].strip() if rest and rest[0].startswith("    ") else ""
        place = Place(match["file"], int(match["line"]), match["function"], text)
        found += _of_program(StackFrame(place, _marked(*rest) if len(rest) == 2 and text else ""), resolve)
    return found


def _original(place: Place, resolve: Callable[[str], str]) -> Place | None:
    """The program's line for a line of a dumped file: in the comment beside the statement, or beside an earlier one."""
    for line in range(place.line, 0, -1):
        text = linecache.getline(place.filename, line)
        match = _FROM.search(text.rstrip())
        if match is not None:
            rest = resumed(place.function)
            filename = resolve(match["file"])
            source = linecache.getline(filename, int(match["line"])).strip()
            return Place(filename, int(match["line"]), rest[0] if rest else place.function, source)
        if _BEGINS.match(text):
            break
    return None


def _marked(line: str, carets: str) -> str:
    """What stands over the carets; "" where there are none."""
    if set(carets.strip()) - set("^~") or "^" not in carets:
        return ""
    start = len(carets) - len(carets.lstrip())
    return line[start : len(carets.rstrip())].strip()
