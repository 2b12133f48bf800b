"""Lines of the program in the texts that Dynamo's stage has: the original bytecode, and the transformed code.

Input: the text of one such file, and what the manifest says of it.  Output: its lines -> lines of the program.
"""

from __future__ import annotations

import re

from depyf.run.files.checksums import line_as_it_is
from depyf.run.files.file_record import FileRecord
from depyf.run.files.layout import LISTING

_WITH_OFFSET = re.compile(r"^ *(?P<line>\d+) +(?:--> +)?(?:>> +)?\d+ [A-Z]")
_WITHOUT_OFFSET = re.compile(r"^ *(?P<line>\d+) +(?:L\d+: +)?(?:--> +)?[A-Z]")
"""Up to CPython 3.12 ``dis`` shows offsets, after the line of the program where that changes."""


def bytecode_lines(text: str, first: int) -> dict[int, int]:
    """Line of an ``__original_code`` file -> line of the program: of its source, which begins at its line ``first``,
    and of its instructions."""
    lines = text.split("\n")
    found: dict[int, int] = {}
    try:
        listing = lines.index(LISTING) + 1
    except ValueError:
        listing = len(lines)
    number = first
    for at in range(3, listing - 1):
        if lines[at - 1].strip():
            found[at] = number
        number += 1
    current = 0
    numbered = _WITH_OFFSET if any(map(_WITH_OFFSET.match, lines[listing:])) else _WITHOUT_OFFSET
    for at, line in enumerate(lines[listing:], listing + 1):
        match = numbered.match(line)
        current = int(match["line"]) if match is not None else current
        if current and line.strip():
            found[at] = current
    return found


def transformed_lines(text: str, file: FileRecord) -> dict[int, tuple[str, int]]:
    """Line of transformed code -> file and line of the program, where another line of the program begins.

    ``text`` is the file as it is now."""
    found: dict[int, tuple[str, int]] = {}
    for written, origin in file.lines.starts() if file.lines is not None else ():
        number = line_as_it_is(text, file.line_checksums, written) if origin.place is not None else 0
        if number and origin.place is not None:
            found[number] = origin.place.filename, origin.place.line
    return found


def short_name(path: str) -> str:
    """The last component of a path."""
    return re.split(r"[/\\]", path)[-1]
