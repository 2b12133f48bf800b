"""Merges the copies of a handler's end that the compiler puts after tests (3.12+).

    BRANCH false E;  ...    E: POP_EXCEPT, at the place of the test          POP_EXCEPT, without a line: the end itself

The copy is not in the source: it has the columns of the test that leads there, which a ``continue`` or ``return`` would
not have.  Input: a ``Program``.  Output: the same, such tests leading to the end itself.
"""

from __future__ import annotations

from depyf.decompiler.bytecode import ops
from depyf.decompiler.cfg.program import NONE, Program
from depyf.decompiler.cfg.undo.short_circuit_exits import Places, alike

_ENDS = 8
"""How many ends of one handler are looked at: an optimiser copies some that have no line, too."""


def join_handler_ends(program: Program) -> None:
    """Lead tests to the end of the handler, not to a copy of it (edits ``program``)."""
    if not program.handlers:
        return
    instrs = program.instrs
    ends: dict[int, dict[int, None]] = {}  # by what protects the handler that they end
    for i in range(len(instrs)):
        for after in (program.next[i], program.jump[i]):
            if after != NONE and instrs[after].op == ops.POP_EXCEPT and instrs[after].line is None:
                ends.setdefault(program.handler[i], {})[after] = None
    if not ends:
        return
    places = Places(program)
    for test, instr in enumerate(instrs):
        if instr.op != ops.BRANCH:
            continue
        for after in {program.jump[test], program.next[test]} - {NONE}:
            if instrs[after].op == ops.POP_EXCEPT and program.place(after) == program.place(test) is not None:
                known = sorted(ends.get(program.handler[test], ()))[:_ENDS]
                same = (end for end in known if program.handler[end] == program.handler[after])
                found = (end for end in same if alike(program, after, end))
                places.join(after, next(found, NONE))
