"""Source lines of bytecode offsets, for every table format CPython 3.8-3.15 wrote.

Input: a ``CodeUnit``.  Output: ``runs_of`` gives ascending byte ranges, each by its end, with their line; the line is
None where the compiler declared the instruction artificial.  From 3.11 on it comes from ``locations``, of which
``columns`` reads the rest.  Truncated or malformed tables end early and raise no error: lines only choose between equivalent
texts.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from depyf.bytecode.codeunit import CodeUnit

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
    """The location table of 3.11+, cut into its entries: which of them each code unit has, their first lines, their bytes."""

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
        size, step = _size_and_step(entry) if len(entry) < SHORT else _read_size_and_step(entry)
        of += [number] * size
        if step is None:
            lines.append(None)
        else:
            line += step
            lines.append(line)
    return Locations(of, lines, entries)


def _read_size_and_step(entry: bytes) -> tuple[int, int | None]:
    """How many code units have an entry, and how far its first line is from that of the one before; None where it has no line."""
    size, kind = (entry[0] & 7) + 1, entry[0] >> 3 & 15
    if kind < ONE_LINE:
        return size, 0
    if kind < NO_COLUMNS:
        return size, kind - ONE_LINE
    if kind == NONE:
        return size, None
    delta, _ = varint(entry, 1)
    return size, -(delta >> 1) if delta & 1 else delta >> 1


SHORT = 12
"""Entries below this many bytes are kept once read: the same few make up the tables of all code."""
_size_and_step = lru_cache(maxsize=4096)(_read_size_and_step)
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
        if not byte & 64:
            break
    return value, index
