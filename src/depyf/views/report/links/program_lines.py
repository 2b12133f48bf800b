"""Lines of the program in the texts that Dynamo's stage has: the original bytecode, and the transformed code.

Input: the text of one such file.  Output: its lines -> lines of the program.
"""

from __future__ import annotations

import re
from collections.abc import Collection

_HEAD = re.compile(r", (?P<file>.+):(?P<line>\d+), as Dynamo was given it\.")
_WITH_OFFSET = re.compile(r"^ *(?P<line>\d+) +(?:--> +)?(?:>> +)?\d+ [A-Z]")
_WITHOUT_OFFSET = re.compile(r"^ *(?P<line>\d+) +(?:L\d+: +)?(?:--> +)?[A-Z]")
"""Up to CPython 3.12 ``dis`` shows offsets, after the line of the program where that changes."""
_COMMENT = re.compile(r"  # (?:.*?\b)?(?P<file>[\w.<>-]+\.\w+):(?P<line>\d+)\b")


def bytecode_lines(text: str) -> dict[int, int]:
    """Line of an ``__original_code`` file -> line of the program: of its source, and of its instructions."""
    lines = text.split("\n")
    head = _HEAD.search(lines[0]) if lines else None
    if head is None:
        return {}
    found: dict[int, int] = {}
    try:
        listing = lines.index("Bytecode:") + 1
    except ValueError:
        listing = len(lines)
    number = int(head["line"])
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


def transformed_lines(text: str, path: str, known: Collection[str]) -> dict[int, tuple[str, int]]:
    """Line of transformed code -> file and line of the program that the comment on it names.

    ``path`` is the file of the function, ``known`` the files of the program: comments give the last part of a path
    only.
    """
    by_name: dict[str, str] = {}
    for one in sorted(known):
        by_name.setdefault(short_name(one), one)
    by_name[short_name(path)] = path
    found: dict[int, tuple[str, int]] = {}
    for number, line in enumerate(text.split("\n"), 1):
        comment = _COMMENT.search(line)
        if comment is not None and comment["file"] in by_name:
            found[number] = by_name[comment["file"]], int(comment["line"])
    return found


def short_name(path: str) -> str:
    """The last part of a path."""
    return re.split(r"[/\\]", path)[-1]
