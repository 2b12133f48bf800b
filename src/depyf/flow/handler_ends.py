"""The end of a handler is one place, although the compiler copies it behind tests (3.12+).

    BRANCH false E;  ...    E: POP_EXCEPT, at the place of the test          POP_EXCEPT, without a line: the end itself

Nobody wrote it: the copy has the columns of the test that leads there, which a ``continue`` or ``return`` would not have.
Input: a ``Program``.  Output: the same, such tests leading to the end itself.
"""

from __future__ import annotations

from depyf.bytecode import ops
from depyf.flow.program import NONE, Program
from depyf.flow.short_ways import Places, alike

_ENDS = 8
"""How many ends of one handler are looked at: an optimiser copies some that have no line, too."""


def join_handler_ends(program: Program) -> None:
    """Lead tests to the end of the handler, not to a copy of it (edits ``program``)."""
    if not program.handlers:
        return
    instrs = program.instrs
    ends: dict[int, list[int]] = {}
    for i, instr in enumerate(instrs):
        if instr.op == ops.POP_EXCEPT and instr.line is None:
            ends.setdefault(program.handler[i], []).append(i)
    if not ends:
        return
    places = Places(program)
    for test, instr in enumerate(instrs):
        if instr.op != ops.BRANCH:
            continue
        for after in {program.jump[test], program.next[test]} - {NONE}:
            if instrs[after].op == ops.POP_EXCEPT and program.place(after) == program.place(test) is not None:
                found = (end for end in ends.get(program.handler[after], ())[:_ENDS] if alike(program, after, end))
                places.join(after, next(found, NONE))
