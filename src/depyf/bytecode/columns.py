"""Where lines of source begin, as far as the location table tells (3.11+): indentation shows in it.

Input: a ``CodeUnit``.  Output: ``Columns``.  A damaged table ends early: columns are never worth failing for.
"""

from __future__ import annotations

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
    behind_for: int
    behind_with: int


def columns_of(unit: CodeUnit) -> Columns:
    """The columns of one code object's lines."""
    first: dict[int, int] = {}
    least: dict[int, int] = {}
    late = unit.version >= (3, 13)
    found = Columns(first, least, len("for ") if late else 0, len("with ") if late else 0)
    if unit.version < (3, 11):
        return found
    table = unit.linetable
    size, index, line = len(table), 0, unit.firstlineno
    while index < size:
        kind = (table[index] >> 3) & 15
        index += 1
        column: int | None = None
        if kind == 14:
            delta, index = _varint(table, index)
            line += -(delta >> 1) if delta & 1 else delta >> 1
            _, index = _varint(table, index)
            shifted, index = _varint(table, index)
            _, index = _varint(table, index)
            column = shifted - 1 if shifted else None
        elif kind == 13:
            delta, index = _varint(table, index)
            line += -(delta >> 1) if delta & 1 else delta >> 1
        elif 10 <= kind <= 12:
            line += kind - 10
            column = table[index] if index < size else None
            index += 2
        elif kind < 10:
            column = kind << 3 | table[index] >> 4 & 7 if index < size else None
            index += 1
        if column is not None:
            first.setdefault(line, column)
            least[line] = min(column, least.get(line, column))
    return found


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
