"""Lines that the compiler kept only so that a debugger can stop on them."""

from __future__ import annotations

from depyf.bytecode.codeunit import CodeUnit
from depyf.bytecode.decode import decode
from depyf.bytecode.versions import spec_for


def nop_lines(unit: CodeUnit) -> frozenset[int]:
    """Lines with a ``NOP``: ``pass``, ``case _:`` and the like; an empty body leaves nothing else behind."""
    raw = decode(unit, spec_for(unit.version))
    lines = (line for name, line in zip(raw.names, raw.lines) if name == "NOP")
    return frozenset(line for line in lines if line is not None)
