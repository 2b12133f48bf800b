"""The table of lines of a code object, written as the compiler of its version writes it (3.10+).

Input: where code begins, and the length and position of each instruction.  Output: the bytes of ``co_linetable``.
"""

from __future__ import annotations

from collections.abc import Iterable

Position = tuple[int | None, int | None, int | None, int | None]
"""First and last line, first and last column."""
_LOCATIONS = (3, 11)


def line_table(version: tuple[int, int], first: int, extents: Iterable[tuple[int, Position]]) -> bytes:
    """The table of code that begins on line ``first``: length in bytes, caches included, and position of each
    instruction."""
    return _locations(first, extents) if version >= _LOCATIONS else _line_ranges(first, extents)


def _line_ranges(first: int, extents: Iterable[tuple[int, Position]]) -> bytes:
    """3.10 (Objects/lnotab_notes.txt): pairs of length and signed line increment, -128 for no line."""
    runs: list[tuple[int, int | None]] = []
    for length, (line, _, _, _) in extents:
        if runs and runs[-1][1] == line:
            runs[-1] = (runs[-1][0] + length, line)
        else:
            runs.append((length, line))
    out = bytearray()
    for length, line in runs:
        delta = 0 if line is None else line - first
        first += delta
        while abs(delta) > 127:
            step = 127 if delta > 0 else -127
            out += bytes((0, step & 255))
            delta -= step
        while length:
            size = min(length, 254)
            out += bytes((size, 128 if line is None else delta & 255))
            delta = 0
            length -= size
    return bytes(out)


def _locations(first: int, extents: Iterable[tuple[int, Position]]) -> bytes:
    """3.11+ (Objects/locations.md): an entry for each instruction, of at most 8 units."""
    out = bytearray()
    for length, position in extents:
        units = length // 2
        while units:
            size = min(units, 8)
            kind, rest = _entry(position, first)
            out.append(128 | kind << 3 | size - 1)
            out += rest
            first = first if position[0] is None else position[0]
            units -= size
    return bytes(out)


def _entry(position: Position, previous: int) -> tuple[int, bytes]:
    """The shortest form: its kind and the bytes that follow."""
    line, end_line, column, end_column = position
    if line is None:
        return 15, b""
    delta = line - previous
    signed = _varint(-delta << 1 | 1 if delta < 0 else delta << 1)
    if end_line is None or column is None or end_column is None or end_line < line:
        return 13, signed
    if line == end_line:
        if not delta and column < 80 and 0 <= end_column - column < 16:
            return column >> 3, bytes(((column & 7) << 4 | end_column - column,))
        if 0 <= delta <= 2 and column < 128 and end_column < 128:
            return 10 + delta, bytes((column, end_column))
    return 14, signed + _varint(end_line - line) + _varint(column + 1) + _varint(end_column + 1)


def _varint(value: int) -> bytes:
    """Six bits a byte, lowest first; bit 6 says that more follow."""
    out = bytearray()
    while value > 63:
        out.append(64 | value & 63)
        value >>= 6
    out.append(value)
    return bytes(out)
