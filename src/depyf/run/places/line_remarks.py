"""Remarks in the text of transformed code: the lines of the program that it comes from, and what unusual lines mean.

Input: a text, and which of its lines come from which of the program.  Output: the same code with remarks.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

from depyf.decompiler.emit.comments import remark, source_lines
from depyf.decompiler.emit.scopes import never_run
from depyf.safety.unheard import parse

_WRITTEN_BACK = re.compile(r" *(\w+) = \1(?:  # .*)?$")
"""Dynamo stores the variables that functions share (cells) again after each graph, those too that did not change."""


_CELL = re.compile(r"\b__cell_(\w+)")


def _says(line: str, cells: set[str]) -> str:
    """What an unusual line means; ``cells``: those that were explained before."""
    if said := never_run(line):
        return f"never runs: {said}"
    new = [name for name in dict.fromkeys(_CELL.findall(line)) if name not in cells]
    cells.update(new)
    return ", ".join(f"__cell_{name}: the cell that holds {name}" for name in new)


def line_changes(linemap: tuple[tuple[int, int | None], ...]) -> tuple[tuple[int, int], ...]:
    """The lines of a text at which another line of the user begins."""
    found: list[tuple[int, int]] = []
    for number, user in sorted(linemap, key=lambda pair: pair[0]):
        if user is not None and (not found or user != found[-1][1]):
            found.append((number, user))
    return tuple(found)


def commented(text: str, linemap: tuple[tuple[int, int | None], ...], filename: str) -> str:
    """``text`` with the user's file and line after the first statement of each user line; same lines, same code."""
    lines = source_lines(text)
    short = Path(filename).name
    for number, user in line_changes(tuple(pair for pair in linemap if 0 < pair[0] <= len(lines))):
        if "#" not in lines[number - 1] and not lines[number - 1].rstrip().endswith("\\"):
            lines[number - 1] = remark(lines[number - 1], f"{short}:{user}")
    cells: set[str] = set()
    for position, line in enumerate(lines):
        if ("if 0: " in line or "__cell_" in line) and not line.rstrip().endswith("\\") and (why := _says(line, cells)):
            lines[position] = remark(line, why)
        if (own := _WRITTEN_BACK.match(line)) is not None:
            lines[position] = remark(line, f"torch writes {own[1]} back as it is")
        if "record_pregraph_bytecode_" in line and not line.rstrip().endswith("\\"):
            lines[position] = remark(line, "torch's bookkeeping")
    result = "\n".join(lines) + ("\n" if text.endswith("\n") else "")
    if not any(part in text for part in ('"""', "'''", "\\\n")):  # every line ends outside of strings
        return result
    try:
        same = ast.dump(parse(result)) == ast.dump(parse(text))
    except (SyntaxError, ValueError, RecursionError):
        same = False
    return result if same else text  # a line inside a string is no place for a comment
