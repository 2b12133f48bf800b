"""Checksums of the files of a dump that ``depyf.edited`` can put in the place of what torch made.

Input: the text of a file, or the text from which torch's part of it was made.  Output: hexadecimal digits.  With them a
later run knows which files were edited since, in which lines, and whether torch made the same thing again.
"""

from __future__ import annotations

import hashlib
import re
import zlib
from collections.abc import Sequence

from depyf.run.graphs.graph_source import importable

EDITABLE = ("full_code", "transformed_code", "graph", "wrapper", "kernel_source")
"""The kinds of files that have checksums in the manifest."""
DIGITS = 4
_COMMENT = re.compile(r"(?:^|\s)#(?: .*)?$", re.M)
_COUNTED = re.compile(r"\b(__\w+?)_\d+\b")
_SPACE = re.compile(r"\s+")


def whole_checksum(text: str) -> str:
    """SHA-256 of a file that holds ``text``."""
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()


def line_checksums(text: str) -> str:
    """``DIGITS`` digits for each line of ``text``."""
    lines = text.encode("utf-8", "backslashreplace").split(b"\n")
    return "".join([f"{zlib.crc32(line) & 0xFFFF:04x}" for line in lines])


def uncounted(text: str) -> str:
    """``text`` without the counters in the names of Dynamo's globals, which go on from compilation to compilation."""
    return _COUNTED.sub(r"\1_N", text)


def meaning_checksum(text: str) -> str:
    """SHA-256 of what torch made, as far as it says what is computed: without comments, which name the lines of the
    program and count compilations, without counters in names, and without line breaks, of which torch writes more in
    some reports than in others."""
    bare = _SPACE.sub("", uncounted(_COMMENT.sub("", importable(text)))).replace(",)", ")")
    return hashlib.sha256(bare.encode("utf-8", "backslashreplace")).hexdigest()


def written_lines(checksums: str) -> int:
    """How many lines the text with these ``checksums`` has."""
    return len(checksums) // DIGITS


def changed_lines(text: str, checksums: str) -> tuple[int, ...]:
    """The lines of ``text``, from 1, that differ from the text with these ``checksums``.  For lines that were removed:
    the line before them."""
    changed: dict[int, None] = {}
    for kind, _, _, start, end in _steps(checksums, line_checksums(text)):
        if kind != "equal":
            changed |= dict.fromkeys(range(start + 1, end + 1) if end > start else [max(start, 1)])
    return tuple(changed)


def line_as_written(text: str, checksums: str, line: int) -> tuple[int, int]:
    """The line with the content of line ``line`` of ``text`` in the text with these ``checksums``, as a pair of equal
    numbers.  For a changed or inserted line: the nearest unchanged lines before and after it."""
    return _counterpart(line_checksums(text), checksums, line)


def line_as_it_is(text: str, checksums: str, line: int) -> int:
    """The line of ``text`` that is line ``line`` of the text with these ``checksums``; 0 where it was removed."""
    before, after = _counterpart(checksums, line_checksums(text), line)
    return before if before == after else 0


def _counterpart(here: str, there: str, line: int) -> tuple[int, int]:
    if here == there:
        return line, line
    before = 0
    for kind, start, end, other, other_end in _steps(here, there):
        if kind == "equal" and start < line <= end:
            found = other + line - start
            return found, found
        if line <= start:
            return before, other + 1
        before = other_end if kind == "equal" else before
    return before, written_lines(there) + 1


def _steps(old: str, new: str) -> Sequence[tuple[str, int, int, int, int]]:
    import difflib

    one, two = ([found[at : at + DIGITS] for at in range(0, len(found), DIGITS)] for found in (old, new))
    return difflib.SequenceMatcher(None, one, two, autojunk=False).get_opcodes()
