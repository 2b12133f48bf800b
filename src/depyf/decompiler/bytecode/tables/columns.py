"""The columns at which source lines begin, as far as the location table tells (3.11+): they show indentation.

A damaged table ends early and raises no error: columns only choose between equivalent texts.
"""

from __future__ import annotations

from functools import cached_property

from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.bytecode.tables.linetables import LONG, MORE, NO_COLUMNS, ONE_LINE, Locations, varint

Place = tuple[int, int]
_Span = tuple[Place, Place]
"""Where something begins, and where it ends."""


class Columns:
    """The columns of one code unit, read when they are first asked for; empty where the version has none.

    ``after_for``, ``after_with`` and ``after_assert`` say how far the smallest column of such a statement lies to the
    right of its start: where it is 0, some of its instructions have the place of the whole statement.
    """

    def __init__(self, unit: CodeUnit, locations: Locations) -> None:
        self.unit = unit
        self._locations = locations
        self.known = unit.version >= (3, 11)
        """Whether the version has columns at all."""
        late = unit.version >= (3, 13)
        self.after_for = len("for ") if late else 0
        self.after_with = len("with ") if late else 0
        self.after_assert = len("assert ") if unit.version < (3, 12) else 0

    @cached_property
    def first(self) -> dict[int, int]:
        """Per line, the column of its first instruction."""
        return self._lines[0]

    @cached_property
    def least(self) -> dict[int, int]:
        """Per line, the smallest column."""
        return self._lines[1]

    def place(self, at: int) -> tuple[Place, Place] | None:
        """Line and column where the source of code unit ``at`` begins and ends, None where that is not known."""
        of = self._locations.of
        return self._table[of[at]] if 0 <= at < len(of) else None

    @cached_property
    def _table(self) -> list[_Span | None]:
        """What each entry of the location table says of columns.

        Source of the format: ``Objects/locations.md`` of CPython.
        """
        table: list[_Span | None] = []
        for line, entry in zip(self._locations.lines, self._locations.entries, strict=True):
            kind = entry[0] >> 3 & 15
            if kind < ONE_LINE and len(entry) > 1:
                first, column, width = line or 0, kind << 3 | entry[1] >> 4, entry[1] & 15
                table.append(((first, column), (first, column + width)))
            elif ONE_LINE <= kind < NO_COLUMNS and len(entry) > 2:
                first = line or 0
                table.append(((first, entry[1]), (first, entry[2])))
            else:
                table.append(_long_form(line or 0, entry) if kind == LONG else None)
        return table

    def word(self, line: int | None) -> str | None:
        """The one word, or ``return None``, that is all there is on a line, None where that is not known.

        The place of ``return None`` is that of its constant, as wide as ``pass``: indentation tells which of them it
        is. ``...`` counts as ``pass``, see ``is_ellipsis``.
        """
        span = None if line is None else self._lines[2].get(line)
        if span is None:
            return None
        start, end = span
        if self.is_ellipsis(line):
            return "pass"
        if end - start != len("pass"):
            return _WORDS.get(end - start)
        if start % STEP == 0 or start <= _RETURN:
            return "pass"
        return "return None" if (start - _RETURN) % STEP == 0 else None

    def is_ellipsis(self, line: int | None) -> bool:
        """Whether ``...`` is all there is on a line: a statement of that width begins there and left nothing else."""
        span = None if line is None else self._lines[2].get(line)
        return span is not None and span[1] - span[0] == len("...") and span[0] % STEP == 0

    @property
    def ends_with_ellipsis(self) -> bool:
        """The same for all of the body of a function or class, whose end has the place of the last statement.

        After it, a coroutine has a handler without a place (3.12+).
        """
        places = (self.place(at) for at in reversed(range(len(self._locations.of))))
        place = next((place for place in places if place is not None), None)
        return place is not None and place[0][0] == place[1][0] and place[1][1] - place[0][1] == len("...")

    def last_word(self, line: int | None) -> str | None:
        """The statement in ``LEAVING`` that a line ends with, by its width."""
        span = None if line is None else self._ends.get(line)
        return None if span is None else LEAVING.get(span[1] - span[0])

    @cached_property
    def _ends(self) -> dict[int, Place]:
        """Where what begins last on a line begins and ends."""
        found: dict[int, Place] = {}
        for place in self._table:
            if place is None:
                continue
            (line, column), (end_line, end) = place
            if line == end_line:
                found[line] = max(found.get(line, (column, end)), (column, end))
        return found

    @cached_property
    def _lines(self) -> tuple[dict[int, int], dict[int, int], dict[int, Place | None]]:
        """First and least column per line; where its instructions begin and end, if that is the same for all."""
        first: dict[int, int] = {}
        least: dict[int, int] = {}
        spans: dict[int, Place | None] = {}
        for place in self._table:
            if place is None:
                continue
            (line, column), (end_line, end) = place
            span = (column, end) if line == end_line else None
            if line not in first:
                first[line] = least[line] = column
                spans[line] = span
                continue
            if column < least[line]:
                least[line] = column
            if spans[line] != span:
                spans[line] = None
        return first, least, spans


_WORDS = {len(word): word for word in ("break", "return", "continue")}
LEAVING = {4: "return None", 5: "break", 6: "return", 11: "return None"}
"""What leaves a loop or a function without a value, by its width; ``return None`` may have that of its constant."""
_RETURN = len("return ")
STEP = 4


def _long_form(line: int, entry: bytes) -> _Span | None:
    """What an entry with four numbers says: how many lines there are, and the columns, from 1 on."""
    if len(entry) == 5 and max(entry[1:]) < MORE:  # a byte each
        _, _, lines, column, end = entry
        return ((line, column - 1), (line + lines, end - 1)) if column else None
    _, index = varint(entry, 1)
    lines, index = varint(entry, index)
    column, index = varint(entry, index)
    end, _ = varint(entry, index)
    return ((line, column - 1), (line + lines, end - 1)) if column else None
