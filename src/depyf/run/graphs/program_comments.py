"""The comments by which torch names lines of the program: ``# File: /a/x.py:3 in f, code: y = x + 1``.

Input: text that torch printed (``torch/fx/graph.py``, ``torch/_inductor/codegen/wrapper.py``): such a comment stands
above the operations of a line, or after a statement, with annotations before ``File:`` in some.  Output: ``Place``
records.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from depyf.run.records import Place

_COMMENT = re.compile(
    r"(?P<start>#(?: [^\n]*?)? ?File: )(?P<file>[^\n]+?)"
    r"(?P<rest>:(?P<line>\d+)(?: in (?P<function>[^,\n]+?))?(?:, code: (?P<code>[^\n]*?))?[ \t]*)$",
    re.M,
)


def place_in(line: str) -> Place | None:
    """The place that a line names; None for a line without such a comment."""
    return next(places_in(line), None)


def places_in(text: str) -> Iterator[Place]:
    """The places that some lines name, in order; the text of the program's line is with them where torch printed it."""
    for found in _COMMENT.finditer(text) if "File: " in text else ():
        yield Place(found["file"], int(found["line"]), found["function"] or "", (found["code"] or "").strip())


def with_file(line: str, named: Callable[[str], str], before: Callable[[str], str] = str) -> str:
    """``line`` with another name of the file, and another text before it, where it names a place."""
    found = _COMMENT.search(line) if "File: " in line else None
    if found is None:
        return line
    start = line[: found.start()] + found["start"]
    return f"{before(start)}{named(found['file'])}{found['rest']}{line[found.end() :]}"
