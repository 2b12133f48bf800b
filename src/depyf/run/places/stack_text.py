"""The stacks that Python and torch print, as places.

Input: a text with frames in it: ``File "train.py", line 7, in step``, the line of source below it.  Output: the places,
in the order of the text.
"""

from __future__ import annotations

import re

from depyf.run.places.place import Place

_HEAD = r'File "(?P<file>[^"\n]+)", line (?P<line>\d+), in (?P<function>[^\n]+)'
_FRAME = re.compile(rf'{_HEAD}(?:\n(?![ \t]*File ")(?P<text>[^\n]*))?')
_LINE = re.compile(rf"(?P<indent> *){_HEAD}$")


def frames_in(text: str) -> list[Place]:
    """All frames of a text."""
    return [_place(match, (match["text"] or "").strip()) for match in _FRAME.finditer(text)]


def frame_in(line: str, indent: int) -> Place | None:
    """The frame that a line names, without the text of its source; None for another line, or another indentation."""
    match = _LINE.match(line)
    return _place(match, "") if match is not None and len(match["indent"]) == indent else None


def _place(match: re.Match[str], text: str) -> Place:
    return Place(match["file"], int(match["line"]), match["function"].strip(), text)
