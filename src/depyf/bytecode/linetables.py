"""Source lines of bytecode offsets, for every table format CPython 3.8-3.15 wrote.

Input: a ``CodeUnit``.  Output: ``runs_of`` gives ascending ``(start, end, line)`` byte ranges; the line is None where
the compiler declared the instruction artificial.  Truncated or malformed tables simply end early: lines are never
worth failing for.
"""

from __future__ import annotations

from depyf.bytecode.codeunit import CodeUnit

Run = tuple[int, int, int | None]


def runs_of(unit: CodeUnit) -> list[Run]:
    """The line ranges of ``unit``."""
    if unit.version >= (3, 11):
        return _locations(unit)
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
            runs.append((start, end, line))
            start = end
        line += delta - 256 if delta > 127 else delta
    if start < len(unit.code):
        runs.append((start, len(unit.code), line))
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
            runs.append((start, end, None))
        else:
            line += delta - 256 if delta > 127 else delta
            if end > start:
                runs.append((start, end, line))
        start = end
    return runs


def _locations(unit: CodeUnit) -> list[Run]:
    """3.11+ (Objects/locations.md): entries of 1-8 code units, their kind in bits 3-6 of the first byte."""
    runs: list[Run] = []
    table = unit.linetable
    size = len(table)
    start = index = 0
    line = unit.firstlineno
    while index < size:
        first = table[index]
        index += 1
        end = start + ((first & 7) + 1) * 2
        kind = (first >> 3) & 15
        if kind == 15:
            runs.append((start, end, None))
        else:
            if kind >= 13:  # a signed varint: no-column (13) or long form (14)
                shift = value = 0
                while index < size:
                    byte = table[index]
                    index += 1
                    value |= (byte & 63) << shift
                    shift += 6
                    if not byte & 64:
                        break
                line += -(value >> 1) if value & 1 else value >> 1
            elif kind >= 10:  # one-line form: the line increment is in the kind
                line += kind - 10
            runs.append((start, end, line))
        start = end
        while index < size and not table[index] & 128:  # columns: every later byte of an entry has bit 7 clear
            index += 1
    return runs
