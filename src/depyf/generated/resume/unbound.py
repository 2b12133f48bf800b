"""Removes stores of an empty slot to a local variable that is unbound.

PUSH_NULL; STORE_FAST x   ->   (nothing)      at the beginning of a function, ``x`` no parameter

Dynamo hands on that a variable of an inlined comprehension was unbound (``torch/_dynamo/resume_execution.py``,
``argnames_null``).  Nothing is assumed: a variable is unbound until it is stored to.
"""

from __future__ import annotations

from depyf.bytecode import ops
from depyf.bytecode.edits.without import without
from depyf.bytecode.lower import Lowered


def drop_unbinding(lowered: Lowered) -> Lowered:
    """``lowered`` without such stores; itself where there are none."""
    instrs = lowered.instrs
    entered = {instr.target for instr in instrs} | {handler.target for handler in lowered.handlers}
    bound = {*lowered.unit.params, *lowered.unit.cellvars, *lowered.unit.freevars}
    gone: set[int] = set()
    for at, instr in enumerate(instrs):
        if at in entered or instr.target >= 0 or instr.op in ops.TERMINATORS:
            break
        if instr.op in (ops.STORE_FAST, ops.RESTORE_FAST):
            if instr.arg not in bound and at and instrs[at - 1].op == ops.NULL:
                gone |= {at - 1, at}
            else:
                bound.add(instr.arg)
    return without(lowered, gone) if gone else lowered
