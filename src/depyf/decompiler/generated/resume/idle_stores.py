"""Removes stores at the head of a resume function that do nothing.

PUSH_NULL; STORE_FAST x            ->   (nothing)      ``x`` no parameter: it is unbound already
LOAD_CONST True; STORE_FAST mark   ->   (nothing)      ``mark`` a variable of the generator's, which nothing reads

Dynamo hands on that a variable of an inlined comprehension was unbound (``torch/_dynamo/resume_execution.py``,
``argnames_null``).  Nothing is assumed for that: a variable is unbound until it is stored to.
"""

from __future__ import annotations

from collections.abc import Collection

from depyf.decompiler.bytecode import ops
from depyf.decompiler.bytecode.edits.splice import without
from depyf.decompiler.bytecode.lower import Lowered


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


def drop_tracing_flags(lowered: Lowered, variables: Collection[str]) -> Lowered:
    """``lowered`` without such settings of ``variables``, which nothing looks up by name; itself where there are
    none."""
    instrs = lowered.instrs
    if frozenset(variables).isdisjoint(lowered.unit.varnames):
        return lowered
    targets = {instr.target for instr in instrs}
    set_at = {
        at
        for at in range(1, len(instrs))
        if instrs[at].op == ops.STORE_FAST and instrs[at].arg in variables
        and instrs[at - 1].op == ops.LOAD_CONST and at not in targets
    }  # fmt: skip
    read = {
        instr.arg
        for at, instr in enumerate(instrs)
        if at not in set_at and instr.op in ops.LOCALS and instr.arg in variables
    }
    gone = {index for at in set_at if instrs[at].arg not in read for index in (at - 1, at)}
    return without(lowered, gone) if gone else lowered
