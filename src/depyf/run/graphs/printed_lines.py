"""Lines of a graph as torch.fx prints it: ``    add: "f32[2]" = x + y;  x = None``, ``class GraphModule(...)``.

Input: a line, or a text.  Output: what the line assigns to, the type and the value; the class that it begins.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_ASSIGNED = re.compile(r"^(?P<indent> +)(?P<name>[A-Za-z_]\w*)(?:: \"(?P<type>[^\"\n]*)\")? = (?P<value>.*)$", re.M)
_CLASS = re.compile(r"(?P<indent> *)class (?P<name>\w+)\(")
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class PrintedLine:
    """A line that computes a value."""

    indent: int
    name: str
    type: str
    """As it is printed; "" where none is."""
    value: str
    """To the end of the line, with the values that are released there."""

    @property
    def renames(self) -> bool:
        """Whether it gives a value another name, and does nothing else."""
        return not self.type and _WORD.fullmatch(self.value) is not None


def printed_line(line: str) -> PrintedLine | None:
    """The value that a line of a printed graph computes; None for a line that computes nothing."""
    match = _ASSIGNED.match(line)
    return _made(match) if match is not None else None


def printed_lines(text: str) -> Iterator[PrintedLine]:
    """The lines of ``text`` that compute a value, in order."""
    return map(_made, _ASSIGNED.finditer(text))


def printed_class(line: str) -> tuple[int, str] | None:
    """The indentation and the name of the class whose definition a line begins; None for another line."""
    match = _CLASS.match(line)
    return (len(match["indent"]), match["name"]) if match is not None else None


def _made(match: re.Match[str]) -> PrintedLine:
    return PrintedLine(len(match["indent"]), match["name"], match["type"] or "", match["value"])
