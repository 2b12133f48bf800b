"""Where lines of source begin, as far as the location table tells (3.11+): indentation shows in it.

A damaged table ends early: columns are never worth failing for.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property

from depyf.bytecode.codeunit import CodeUnit

Place = tuple[int, int]
_Entry = tuple[int, int | None, Place]
"""First line, column or None, last line and column behind it."""


class Columns:
    """The columns of one code unit, read when they are first asked for; empty where the version has none.

    ``behind_for`` and ``behind_with`` say how far the smallest column of such a statement is behind its keyword: up to
    3.12 some of its instructions have the place of the whole statement.
    """

    def __init__(self, unit: CodeUnit) -> None:
        self.unit = unit
        late = unit.version >= (3, 13)
        self.behind_for = len("for ") if late else 0
        self.behind_with = len("with ") if late else 0

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
        starts, entries = self._table
        index = bisect_right(starts, at) - 1
        if index < 0 or at >= starts[-1]:
            return None
        line, column, end = entries[index]
        return None if column is None else ((line, column), end)

    @cached_property
    def _table(self) -> tuple[list[int], list[_Entry]]:
        """The first code unit of each entry, and where the last one ends; the entries."""
        return _entries(self.unit) if self.unit.version >= (3, 11) else ([0], [])

    def word(self, line: int | None) -> str | None:
        """The one word, or ``return None``, that is all there is on a line, None where that is not known.

        The place of ``return None`` is that of its constant, as wide as ``pass``: indentation tells which of them it is.
        """
        span = None if line is None else self._lines[2].get(line)
        if span is None:
            return None
        start, end = span
        if end - start != len("pass"):
            return _WORDS.get(end - start)
        if start % _STEP == 0 or start <= _RETURN:
            return "pass"
        return "return None" if (start - _RETURN) % _STEP == 0 else None

    @cached_property
    def _lines(self) -> tuple[dict[int, int], dict[int, int], dict[int, Place | None]]:
        """First and least column per line; where its instructions begin and end, if that is the same for all."""
        first: dict[int, int] = {}
        least: dict[int, int] = {}
        spans: dict[int, Place | None] = {}
        for line, column, (end_line, end) in self._table[1]:
            if column is None:
                continue
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
_RETURN = len("return ")
_STEP = 4
_ONE_LINE, _NO_COLUMNS, _LONG = 10, 13, 14
"""Kinds of entries: from the first on the line advances by 0 to 2; kind 15 has no location at all."""


def _entries(unit: CodeUnit) -> tuple[list[int], list[_Entry]]:
    """First code unit of each entry of the location table, and where the last one ends; the entries.

    Source of the format: ``Objects/locations.md`` of CPython.
    """
    table = unit.linetable
    size, index, line = len(table), 0, unit.firstlineno
    start, starts = 0, [0]
    entries: list[_Entry] = []
    while index < size:
        first = table[index]
        kind = first >> 3 & 15
        start += (first & 7) + 1
        index += 1
        column: int | None = None
        lines = end = 0
        if kind < _NO_COLUMNS:
            wide = kind >= _ONE_LINE
            line += kind - _ONE_LINE if wide else 0
            if index + wide < size:
                column = table[index] if wide else kind << 3 | table[index] >> 4 & 7
                end = table[index + 1] if wide else column + (table[index] & 15)
            index += 1 + wide
        elif kind <= _LONG:
            delta, index = _varint(table, index)
            line += -(delta >> 1) if delta & 1 else delta >> 1
            if kind == _LONG:
                lines, index = _varint(table, index)
                shifted, index = _varint(table, index)
                shifted_end, index = _varint(table, index)
                column, end = shifted - 1 if shifted else None, shifted_end - 1
        starts.append(start)
        entries.append((line, column, (line + lines, end)))
    return starts, entries


def _varint(table: bytes, index: int) -> tuple[int, int]:
    """An unsigned number in groups of six bits, the lowest first, and where it ends."""
    value = shift = 0
    while index < len(table):
        byte = table[index]
        index += 1
        value |= (byte & 63) << shift
        shift += 6
        if not byte & 64:
            break
    return value, index
