"""Lines that the compiler kept only so that a debugger can stop on them."""

from __future__ import annotations

from depyf.bytecode.codeunit import CodeUnit
from depyf.bytecode.decode import decode
from depyf.bytecode.versions import spec_for


def lines_in_front(unit: CodeUnit) -> dict[int, int]:
    """The line of each ``NOP``, and of what ends a block before 3.11, by the offset of the instruction behind it."""
    raw = decode(unit, spec_for(unit.version))
    found = zip(raw.names, raw.lines, raw.offsets[1:])
    return {after: line for name, line, after in found if name in ("NOP", "POP_BLOCK") and line is not None}


def nop_lines(unit: CodeUnit) -> frozenset[int]:
    """Lines with a ``NOP``: ``pass``, ``case _:`` and the like; an empty body leaves nothing else behind."""
    raw = decode(unit, spec_for(unit.version))
    lines = (line for name, line in zip(raw.names, raw.lines) if name == "NOP")
    return frozenset(line for line in lines if line is not None)
