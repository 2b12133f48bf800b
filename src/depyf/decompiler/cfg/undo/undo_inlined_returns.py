"""Turns returns back into jumps to the end of one expression (3.8 and 3.9).

The old compiler replaced a jump to ``RETURN`` by a ``RETURN``, with the line of the jump.

    a; COPY; BRANCH true to R; POP          a; COPY; BRANCH true to R; POP
    b; RETURN                        is     b; JUMP to R
    c; R: RETURN                            c; R: RETURN

Input and output: ``Program``.  A branch that keeps its operand and the place where it goes belong to one expression;
no statement is between them, so a ``RETURN`` there ends the same expression.
"""

from __future__ import annotations

from depyf.decompiler.bytecode import ops
from depyf.decompiler.cfg.program import NONE, Program
from depyf.safety.rewrites import step

_DROPS = frozenset({ops.POP, ops.SWAP, ops.ROT})


def undo_inlined_returns(program: Program) -> None:
    """Make jumps of the returns inside expressions whose value is returned."""
    instrs, handler = program.instrs, program.handler
    if not program.unit.keeps_dead_code or sum(instr.op == ops.RETURN for instr in instrs) < 2:
        return
    until = end = NONE
    for i, instr in enumerate(instrs):
        if instr.op == ops.RETURN and i < until and handler[i] == handler[end]:
            program.replace(i, ops.JUMP)
            program.jump[i] = end
            step("make a return inside an expression a jump to its end", i)
        elif instr.op == ops.BRANCH and program.jump[i] > max(i, until) and _keeps_operand(program, i):
            at = program.jump[i]
            while instrs[at].op in _DROPS and program.next[at] != NONE:
                at = program.next[at]
            if instrs[at].op == ops.RETURN:
                until, end = program.jump[i], _end_of_chain(program, until=program.jump[i], end=at)


def _end_of_chain(program: Program, until: int, end: int) -> int:
    """Where a chained comparison ends: its last link jumps there over the clean-up, whose own jump became a return."""
    over = program.jump[until - 1]
    if (
        end > until
        and over > end
        and program.instrs[until - 1].op == ops.JUMP
        and program.instrs[over].op == ops.RETURN
    ):
        program.replace(end, ops.JUMP)
        program.jump[end] = over
        return over
    return end


def _keeps_operand(program: Program, index: int) -> bool:
    before, after = program.instrs[index - 1], program.instrs[program.next[index]]
    return (before.op, before.arg, after.op) == (ops.COPY, 1, ops.POP)
