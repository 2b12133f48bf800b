"""A line of source, as everything in a run names it.

Input: nothing.  Output invariant: plain frozen data.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Place:
    """A line of source; ``text`` is the line itself, as it was, where that is known."""

    filename: str = field(metadata={"earlier": "file"})
    line: int
    function: str = ""
    text: str = ""

    def __str__(self) -> str:
        where = f"{self.filename}:{self.line}"
        return f"{where} in {self.function}" if self.function else where
