"""Undoes jump threading: branches to a ``continue`` that now go straight to the loop head (3.8, 3.9).

    if not a or b:        LOAD a; BRANCH false to head          LOAD a; BRANCH false to C
        continue          LOAD b; BRANCH false to L       is    LOAD b; BRANCH false to L
    f()                   C: JUMP to head;  L: f()              C: JUMP to head;  L: f()

Input and output: ``Program``.  What runs is the same; the lines tell that the branch belongs to the statement that the
``continue`` ends.
"""

from __future__ import annotations

from depyf.decompiler.bytecode import ops
from depyf.decompiler.cfg.program import Program
from depyf.safety.rewrites import step


def undo_jump_threading(program: Program) -> None:
    """Redirect such branches to their ``continue`` (edits ``program``)."""
    if not program.unit.keeps_dead_code:
        return
    instrs, line, jump = program.instrs, program.line, program.jump
    first_to: dict[int, int] = {}
    waiting: dict[int, list[int]] = {}
    for i, instr in enumerate(instrs):
        if instr.op == ops.BRANCH and jump[i] > i:
            first_to.setdefault(jump[i], i)
        elif instr.op == ops.BRANCH or jump[i] <= i and _ends_chain(program, i, first_to):
            waiting.setdefault(jump[i], []).append(i)
        elif instr.op == ops.JUMP and jump[i] <= i and _is_continue(program, i):
            start = first_to.get(i + 1)
            branches = waiting.get(jump[i], [])
            while start is not None and branches and (branches[-1] > start or line[branches[-1]] == line[start]):
                jump[branches.pop()] = i
                step("lead a branch to the continue that it skips", i)


def _ends_chain(program: Program, at: int, first_to: dict[int, int]) -> bool:
    """Whether a jump ends a failed chained comparison: it drops its operand and goes where the last test goes."""
    return program.instrs[at].op == ops.JUMP and program.instrs[at - 1].op == ops.POP and at - 1 in first_to


def _is_continue(program: Program, at: int) -> bool:
    """Whether a jump back is a statement: it has a separate line, or is all that a test skips."""
    if at == 0:
        return False
    line, previous = program.line[at], program.line[at - 1]
    if program.instrs[at - 1].op == ops.BRANCH and program.jump[at - 1] == program.jump[at]:
        return False  # with and without it, the test at the end of the loop goes back
    alone = program.instrs[at - 1].op == ops.BRANCH and program.jump[at - 1] == at + 1
    return alone or (line is not None and previous is not None and previous < line)
