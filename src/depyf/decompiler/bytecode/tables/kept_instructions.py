"""Finds what compilers keep of code that does nothing: lines for debuggers to stop on, and unreachable jumps back (up
to 3.9).

while a:                       ...
    if b:                      LOAD_CONST; RETURN_VALUE
        return                 JUMP_ABSOLUTE to the test       # unreachable, but what is before it is in the loop
"""

from __future__ import annotations

from bisect import bisect_right

from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.bytecode.decode import Raw, decode
from depyf.decompiler.bytecode.ops import Instr
from depyf.decompiler.bytecode.versions import spec_for

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
    """How many lines with nothing but a ``try`` lead to code, by the line of that code; so do those of ``while True``
    (3.11+)."""
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


def loop_ends(unit: CodeUnit, instrs: tuple[Instr, ...]) -> dict[int, int]:
    """For the first instruction of a loop, the last one before the last jump back to it; empty where none is kept."""
    if not unit.keeps_dead_code or not any(0 <= instr.target <= i for i, instr in enumerate(instrs)):
        return {}
    offsets = [instr.offset for instr in instrs]
    if offsets != sorted(offsets):
        return {}
    raw = decode(unit, spec_for(unit.version))
    ends: dict[int, int] = {}
    for index, target in enumerate(raw.targets):
        if 0 <= target < index:
            ends[raw.offsets[target]] = raw.offsets[index]
    return {i: bisect_right(offsets, ends[at]) - 1 for i, at in enumerate(offsets) if at in ends}


def after_dead_jumps(unit: CodeUnit, instrs: tuple[Instr, ...]) -> frozenset[int]:
    """Instructions after a jump that nothing reaches: a test that led to one goes to its target at once."""
    if not unit.keeps_dead_code or not any(0 <= instr.target <= i for i, instr in enumerate(instrs)):
        return frozenset()
    raw = decode(unit, spec_for(unit.version))
    live = {instr.offset for instr in instrs}
    pairs = zip(raw.names, raw.offsets, raw.offsets[1:])
    dead = {after for name, offset, after in pairs if name.startswith("JUMP_") and offset not in live}
    return frozenset(i for i, instr in enumerate(instrs) if instr.offset in dead)
