"""Lines that the compiler kept only so that a debugger can stop on them."""

from __future__ import annotations

from depyf.bytecode.codeunit import CodeUnit
from depyf.bytecode.decode import Raw, decode
from depyf.bytecode.versions import spec_for

_IN_FRONT = frozenset({"NOP", "POP_BLOCK"})


def lines_in_front(raw: Raw) -> dict[int, int]:
    """The line of the ``NOP`` in front of an instruction, or of what ends a block there before 3.11, by its offset."""
    found: dict[int, int] = {}
    if _IN_FRONT.isdisjoint(raw.names):
        return found
    nop: int | None = None
    for name, line, after in zip(raw.names, raw.lines, raw.offsets[1:]):
        if name not in _IN_FRONT:
            nop = None
            continue
        nop = line if name == "NOP" else nop
        if nop is not None or line is not None:
            found[after] = nop or line or 0
    return found


def nop_lines(unit: CodeUnit) -> frozenset[int]:
    """Lines with a ``NOP``: ``pass``, ``case _:`` and the like; an empty body leaves nothing else."""
    raw = decode(unit, spec_for(unit.version))
    lines = (line for name, line in zip(raw.names, raw.lines) if name == "NOP")
    return frozenset(line for line in lines if line is not None)


def try_lines(unit: CodeUnit) -> dict[int, int]:
    """How many lines with nothing but a ``try`` lead to code, by the line of that code; so do those of ``while True`` (3.11+)."""
    raw = decode(unit, spec_for(unit.version))
    marks = frozenset({"SETUP_FINALLY"}) if "SETUP_FINALLY" in raw.names else frozenset({"NOP"})
    found: dict[int, int] = {}
    before: set[int] = set()
    for name, line in zip(raw.names, raw.lines):
        if name in marks:
            before |= {line} if line is not None else set()
        elif name != "NOP":
            if before and line is not None:
                found[line] = max(len(before), found.get(line, 0))
            before = set()
    return found
