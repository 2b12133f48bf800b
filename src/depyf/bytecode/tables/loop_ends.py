"""Finds the ends of loops from unreachable jumps back, which compilers before 3.10 keep.

while a:                       ...
    if b:                      LOAD_CONST; RETURN_VALUE
        return                 JUMP_ABSOLUTE to the test       # unreachable, but what is before it is in the loop
"""

from __future__ import annotations

from bisect import bisect_right

from depyf.bytecode.codeunit import CodeUnit
from depyf.bytecode.decode import decode
from depyf.bytecode.ops import Instr
from depyf.bytecode.versions import spec_for


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
    """Instructions with a jump in front of them that nothing reaches: a test that led to it goes to its target at once."""
    if not unit.keeps_dead_code or not any(0 <= instr.target <= i for i, instr in enumerate(instrs)):
        return frozenset()
    raw = decode(unit, spec_for(unit.version))
    live = {instr.offset for instr in instrs}
    pairs = zip(raw.names, raw.offsets, raw.offsets[1:])
    dead = {after for name, offset, after in pairs if name.startswith("JUMP_") and offset not in live}
    return frozenset(i for i, instr in enumerate(instrs) if instr.offset in dead)
