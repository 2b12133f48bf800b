"""Source lines of bytecode offsets, for every table format CPython 3.8-3.15 wrote.

Input: a ``CodeUnit``.  Output: ``runs_of`` gives ascending byte ranges, each by its end, with their line; the line is
None where the compiler declared the instruction artificial.  From 3.11 on it comes from ``locations``, of which
``columns`` reads the rest.  Truncated or malformed tables end early and raise no error: lines only choose between
equivalent texts.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from depyf.decompiler.bytecode.codeunit import CodeUnit

Run = tuple[int, int | None]


def runs_of(unit: CodeUnit) -> list[Run]:
    """The line ranges of ``unit``, which an interpreter before 3.11 wrote."""
    if unit.version == (3, 10):
        return _linetable(unit)
    return _lnotab(unit)


def _lnotab(unit: CodeUnit) -> list[Run]:
    """3.8, 3.9: pairs of unsigned byte increment and signed line increment (Objects/lnotab_notes.txt)."""
    runs: list[Run] = []
    table = unit.linetable
    start = end = 0
    line = unit.firstlineno
    for index in range(0, len(table) - 1, 2):
        delta = table[index + 1]
        end += table[index]
        if end > start:
            runs.append((end, line))
            start = end
        line += delta - 256 if delta > 127 else delta
    if start < len(unit.code):
        runs.append((len(unit.code), line))
    return runs


def _linetable(unit: CodeUnit) -> list[Run]:
    """3.10 (PEP 626): byte ranges with a signed line increment; -128 means no line."""
    runs: list[Run] = []
    table = unit.linetable
    start = 0
    line = unit.firstlineno
    for index in range(0, len(table) - 1, 2):
        end = start + table[index]
        delta = table[index + 1]
        if delta == 128:
            runs.append((end, None))
        else:
            line += delta - 256 if delta > 127 else delta
            if end > start:
                runs.append((end, line))
        start = end
    return runs


class Locations(NamedTuple):
    """The location table of 3.11+, cut into entries: the code units of each, their first lines, their bytes."""

    of: list[int]
    lines: list[int | None]
    entries: list[bytes]


NO_LOCATIONS = Locations([], [], [])
_ENTRY = re.compile(rb"(?s).[\x00-\x7f]*")
"""Only the first byte of an entry has bit 7 set."""
ONE_LINE, NO_COLUMNS, LONG, NONE = 10, 13, 14, 15
"""Kinds of entries: short forms first; those from ONE_LINE on advance the line by 0 to 2."""


def locations(unit: CodeUnit) -> Locations:
    """3.11+ (Objects/locations.md): entries of 1-8 code units, their kind in bits 3-6 of the first byte."""
    entries = _ENTRY.findall(unit.linetable)
    of: list[int] = []
    lines: list[int | None] = []
    line = unit.firstlineno
    for number, entry in enumerate(entries):
        first = entry[0]
        of += [number] * ((first & 7) + 1)
        kind = first >> 3 & 15
        if kind >= ONE_LINE:
            if kind == NONE:
                lines.append(None)
                continue
            if kind >= NO_COLUMNS:
                delta = entry[1] if len(entry) > 1 and entry[1] < MORE else varint(entry, 1)[0]
                line += -(delta >> 1) if delta & 1 else delta >> 1
            else:
                line += kind - ONE_LINE
        lines.append(line)
    return Locations(of, lines, entries)


MORE = 64
"""In a number, the bit of a byte that says that another one follows."""
_WIDEST = 36


def varint(table: bytes, index: int) -> tuple[int, int]:
    """An unsigned number in groups of six bits, the lowest first, and where it ends."""
    value = shift = 0
    while index < len(table):
        byte = table[index]
        index += 1
        if shift < _WIDEST:  # a number that goes on for ever takes time in proportion to its square
            value |= (byte & 63) << shift
        shift += 6
        if not byte & MORE:
            break
    return value, index
