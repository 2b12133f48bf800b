"""The comments by which torch names lines of the program: ``# File: /a/x.py:3 in f, code: y = x + 1``.

Input: text that torch printed (``torch/fx/graph.py``, ``torch/_inductor/codegen/wrapper.py``): such a comment stands
above the operations of a line, or after a statement, with annotations before ``File:`` in some.  What stands below a
comment is of its line, up to the next one.  Output: ``Place`` records.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from depyf.run.graphs.printed_lines import printed_class
from depyf.run.places.place import Place

RUNS = "if __name__ == "
"""How the part of a page begins that stands below what torch printed, and runs it."""
NO_PLACE = "No stacktrace found for following nodes"
"""What torch writes where it does not know the lines of the program."""

_COMMENT = re.compile(
    r"(?P<start>#(?: [^\n]*?)? ?File: )(?P<file>[^\n]+?)"
    r"(?P<rest>:(?P<line>\d+)(?: in (?P<function>[^,\n]+?))?(?:, code: (?P<code>[^\n]*?))?[ \t]*)$",
    re.M,
)


def place_in(line: str) -> Place | None:
    """The place in a line's comment ``# File: ...``; None for a line without one."""
    return next(places_in(line), None)


def places_in(text: str) -> Iterator[Place]:
    """The places that some lines name, in order; the text of the program's line is with them where torch printed it."""
    for found in _COMMENT.finditer(text) if "File: " in text else ():
        yield Place(found["file"], int(found["line"]), found["function"] or "", (found["code"] or "").strip())


def with_places(text: str, moved: Callable[[Place], Place]) -> str:
    """``text`` with the files and lines that ``moved`` gives for the places that lines name."""

    def again(found: re.Match[str]) -> str:
        place = moved(Place(found["file"], int(found["line"]), found["function"] or ""))
        return f"{found['start']}{place.filename}:{place.line}{found['rest'][1 + len(found['line']) :]}"

    return _COMMENT.sub(again, text) if "File: " in text else text


def with_file(line: str, named: Callable[[str], str], before: Callable[[str], str] = str) -> str:
    """``line`` with another name of the file, and another text before it, where it names a place."""
    found = _COMMENT.search(line) if "File: " in line else None
    if found is None:
        return line
    start = line[: found.start()] + found["start"]
    return f"{before(start)}{named(found['file'])}{found['rest']}{line[found.end() :]}"


def place_of_line(lines: Sequence[str], line: int) -> Place | None:
    """The program's place for a line of a printed graph or wrapper.  In a nested graph: the place of the operator that
    calls it.  None where torch does not say, and for lines below the module."""
    for number in range(min(line, len(lines)), 0, -1):
        text = lines[number - 1].rstrip()
        place = place_in(text)
        if place is not None:
            return place
        if NO_PLACE in text or text.startswith(RUNS):
            return None
        if text.lstrip().startswith(("def ", "class ")):
            call = _calling_operator(lines, number)
            return place_of_line(lines, call) if call else None
    return None


def _calling_operator(lines: Sequence[str], line: int) -> int:
    """For the ``forward`` of a graph in a graph, which begins at ``line``: where the graph around it fetches it; else
    0."""
    heads = ((n, found) for n in range(line, 0, -1) if (found := printed_class(lines[n - 1])) is not None and found[0])
    number, (indent, name) = next(heads, (0, (0, "")))
    if not number or not lines[line - 1].startswith(" " * indent + "    def "):
        return 0
    fetched = re.compile(rf"{' ' * indent}    \S.* = self\.{name}\b")
    return next((n for n in range(number - 1, 0, -1) if fetched.match(lines[n - 1])), 0)
