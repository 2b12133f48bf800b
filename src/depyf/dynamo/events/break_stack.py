"""The stack of the program in torch's report of a graph break: which lines led there, and what was being evaluated.

Input: the part of a report that begins with ``User code traceback:``.  Output: its frames, outermost first.  A frame that
runs a file of a dump (depyf's text of what Dynamo made) is shown as the line of the program that it came from.
"""

from __future__ import annotations

import linecache
import re
from collections.abc import Callable
from dataclasses import dataclass

from depyf.dump.records import Place

_FRAME = re.compile(r'^  File "(?P<file>[^"]+)", line (?P<line>\d+), in (?P<function>.+)$')
_OF_DUMP = re.compile(r"(?:^|[/\\])__(?:transformed_code|compiled_fn)_[^/\\]*\.py$")
_FROM = re.compile(r"  # (?P<file>[^\s:]+):(?P<line>\d+)(?:, .*)?$")
_BEGINS = re.compile(r"^(?:def|class) ")
_RESUMED = re.compile(r"torch_dynamo_resume_in_(?P<name>\w+)_at_\d+")


@dataclass(frozen=True, slots=True)
class StackFrame:
    """One frame: where it stands, and the part of its line that carets mark ("" where none do)."""

    place: Place
    expression: str = ""


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
        if _OF_DUMP.search(place.filename):
            original = _original(place, resolve)
            if original is not None:
                found.append(StackFrame(original))
        else:
            found.append(StackFrame(place, _marked(*rest) if len(rest) == 2 and text else ""))
    return found


def _original(place: Place, resolve: Callable[[str], str]) -> Place | None:
    """The program's line for a line of a dumped file: in the comment beside the statement, or beside an earlier one."""
    for line in range(place.line, 0, -1):
        text = linecache.getline(place.filename, line)
        match = _FROM.search(text.rstrip())
        if match is not None:
            resumed = _RESUMED.search(place.function)
            filename = resolve(match["file"])
            source = linecache.getline(filename, int(match["line"])).strip()
            return Place(filename, int(match["line"]), resumed["name"] if resumed else place.function, source)
        if _BEGINS.match(text):
            break
    return None


def _marked(line: str, carets: str) -> str:
    """What stands over the carets; "" where there are none."""
    if set(carets.strip()) - set("^~") or "^" not in carets:
        return ""
    start = len(carets) - len(carets.lstrip())
    return line[start : len(carets.rstrip())].strip()
