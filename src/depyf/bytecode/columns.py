"""Where lines of source begin, as far as the location table tells (3.11+): indentation shows in it.

Input: a ``CodeUnit``.  Output: ``Columns``.  A damaged table ends early: columns are never worth failing for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from depyf.bytecode.codeunit import CodeUnit


@dataclass(frozen=True, slots=True)
class Columns:
    """Per line, the column of its first instruction and the smallest one; empty where the version has none.

    ``behind_for`` and ``behind_with`` say how far the smallest one of such a statement is behind its keyword: up to
    3.12 some of its instructions have the place of the whole statement.
    """

    first: dict[int, int]
    least: dict[int, int]
    spans: dict[int, tuple[int, int] | None]
    """Per line, where its instructions begin and end if that is the same place for all; None if it is not."""
    behind_for: int
    behind_with: int

    def word(self, line: int | None) -> str | None:
        """The one word, or ``return None``, that is all there is on a line, None where that is not known.

        The place of ``return None`` is that of its constant, as wide as ``pass``; but hardly in a column that code is
        indented to.
        """
        span = None if line is None else self.spans.get(line)
        if span is None:
            return None
        word = _WORDS.get(span[1] - span[0])
        return "return None" if word == "pass" and span[0] > _RETURN and span[0] % _STEP else word


_ONE_LINE, _NO_COLUMNS, _LONG = 10, 13, 14
"""Kinds of entries: from the first on the line advances by 0 to 2; kind 15 has no location at all."""
_WORDS = {len(word): word for word in ("pass", "break", "return", "continue")}
_RETURN = len("return ")
_STEP = 4
_recent: list[tuple[CodeUnit, Columns]] = []
"""The columns asked for last: several stages ask for those of the same code object."""


def columns_of(unit: CodeUnit) -> Columns:
    """The columns of one code object's lines."""
    if not _recent or _recent[0][0] is not unit:
        _recent[:] = [(unit, _read(unit))]
    return _recent[0][1]


def _read(unit: CodeUnit) -> Columns:
    first: dict[int, int] = {}
    least: dict[int, int] = {}
    spans: dict[int, tuple[int, int] | None] = {}
    late = unit.version >= (3, 13)
    for _, line, column, (end_line, end) in _entries(unit):
        if column is not None:
            span = (column, end) if line == end_line else None
            if spans.setdefault(line, span) != span:
                spans[line] = None
            first.setdefault(line, column)
            least[line] = min(column, least.get(line, column))
    return Columns(first, least, spans, len("for ") if late else 0, len("with ") if late else 0)


Ends = tuple[tuple[int, int] | None, ...]


def ends_of(unit: CodeUnit) -> Ends:
    """Line and column where the source of each code unit ends, None where that is not known."""
    found: list[tuple[int, int] | None] = []
    for length, _, column, end in _entries(unit):
        found += [None if column is None else end] * length
    return tuple(found)


def _entries(unit: CodeUnit) -> Iterator[tuple[int, int, int | None, tuple[int, int]]]:
    """Number of code units, first line, column or None, last line and column of each entry of the location table.

    Source of the format: ``Objects/locations.md`` of CPython.
    """
    if unit.version < (3, 11):
        return
    table = unit.linetable
    size, index, line = len(table), 0, unit.firstlineno
    while index < size:
        kind, length = table[index] >> 3 & 15, (table[index] & 7) + 1
        index += 1
        column: int | None = None
        lines = end = 0
        if kind in (_LONG, _NO_COLUMNS):
            delta, index = _varint(table, index)
            line += -(delta >> 1) if delta & 1 else delta >> 1
        if kind == _LONG:
            lines, index = _varint(table, index)
            shifted, index = _varint(table, index)
            shifted_end, index = _varint(table, index)
            column, end = shifted - 1 if shifted else None, shifted_end - 1
        elif kind < _NO_COLUMNS:
            wide = kind >= _ONE_LINE
            line += kind - _ONE_LINE if wide else 0
            if index + wide < size:
                column = table[index] if wide else kind << 3 | table[index] >> 4 & 7
                end = table[index + 1] if wide else column + (table[index] & 15)
            index += 1 + wide
        yield length, line, column, (line + lines, end)


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
