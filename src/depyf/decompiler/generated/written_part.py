"""The part of generated code that its generator wrote, where it hands control back to the code it started from.

    LOAD_GLOBAL __compiled_fn_1; ...; STORE_FAST x; JUMP_FORWARD here;  here: the user's instructions as they were

Where Dynamo gives a frame up half way (``step_unsupported`` in ``symbolic_convert.py``), it writes code without loops
that restores the variables and jumps to the instruction at which it stopped.  What lies after is a compiler's, and
reads best as such.  Where that jump would lead to the next instruction there is none; a loop on a separate line is the
user's, for what the generator writes has the line of what it follows.  This is a matter of style only: the proof does
not know of it.
"""

from __future__ import annotations

from depyf.decompiler.bytecode import ops
from depyf.decompiler.cfg.program import ENDS, NONE, Program


def written_part(program: Program) -> range | None:
    """The indices of the instructions up to that jump; None where the generator wrote everything."""
    loops = {target for index, target in enumerate(program.jump) if NONE < target <= index}
    lines: set[int | None] = {None}
    begun, line = 0, None  # where the instructions of the current line begin
    joined = 0  # what the branches of the part lead to: torch 2.14 asks there whether a profiler runs
    for index, instr in enumerate(program.instrs):
        target = program.jump[index]
        if instr.line != line:
            lines.add(line)
            begun, line = index, instr.line
        if index in loops and len(lines) > 1 and joined <= begun and line not in lines:
            return range(begun)
        if program.handler[index] != NONE or instr.op in ENDS or index in loops:
            return None
        if instr.op == ops.JUMP and joined <= index:
            return range(index + 1)
        joined = max(joined, target)
    return None
