"""For each line of a page of ours, the line of the program that it comes from.

Input: the origins of a page's lines, in order, which its writer knows.  Output: a ``LineTable``, short enough to stand
in the manifest: neighbouring lines with one origin are one stretch, and each name is there once.  Reading a table never
raises: where it is damaged nothing is known.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from depyf.run.places.place import Place


@dataclass(frozen=True, slots=True)
class LineOrigin:
    """Where a line of a page comes from."""

    place: Place | None = None
    """None where no line of the program is known for it."""
    entry: str = ""
    """On a page with several entries: the one whose guards or code the line is of."""


NO_ORIGIN = LineOrigin()


@dataclass(frozen=True, slots=True)
class LineTable:
    """The origins of the lines of a page, as they are stored."""

    stretches: str
    """For each ``COUNT:LINE:FILE:FUNCTION:TEXT:ENTRY``, with a space between them: how many lines of the page, the line
    of the program, and the numbers of its file, function, text and cache entry among ``names``.  What is not known is
    empty, and left out at the end."""
    names: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        """How many lines the page had when it was written."""
        return sum(count for count, _ in self._stretches())

    def at(self, line: int) -> LineOrigin:
        """The origin of a line of the page as it was written."""
        if line > 0:
            for count, origin in self._stretches():
                line -= count
                if line <= 0:
                    return origin
        return NO_ORIGIN

    def starts(self) -> Iterator[tuple[int, LineOrigin]]:
        """The first line of each stretch, and its origin."""
        line = 1
        for count, origin in self._stretches():
            yield line, origin
            line += count

    def _stretches(self) -> Iterator[tuple[int, LineOrigin]]:
        for stretch in self.stretches.split():
            numbers = [int(field) if field.isdecimal() and len(field) < 10 else -1 for field in stretch.split(":")]
            count, line, file, function, text, entry = (*numbers, *[-1] * (6 - len(numbers)))[:6]
            place = Place(self._name(file), line, self._name(function), self._name(text)) if line > 0 else None
            yield max(count, 0), LineOrigin(place if place is not None and place.filename else None, self._name(entry))

    def _name(self, number: int) -> str:
        return self.names[number] if 0 <= number < len(self.names) else ""


def line_table(origins: Sequence[LineOrigin]) -> LineTable:
    """The table of a page whose lines have these origins."""
    names: dict[str, int] = {}

    def number(name: str) -> str:
        return str(names.setdefault(name, len(names))) if name else ""

    stretches = []
    for origin, lines in groupby(origins):
        place = origin.place
        found = ("", "", "", "")
        if place is not None:
            found = (str(place.line), number(place.filename), number(place.function), number(place.text))
        stretches.append(":".join([str(len(list(lines))), *found, number(origin.entry)]).rstrip(":"))
    return LineTable(" ".join(stretches), tuple(names))
