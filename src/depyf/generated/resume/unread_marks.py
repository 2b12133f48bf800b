"""Removes stores of constants to the generator's variables, which nothing reads.

LOAD_CONST True; STORE_FAST mark   ->   (nothing)
"""

from __future__ import annotations

from collections.abc import Collection

from depyf.bytecode import ops
from depyf.bytecode.edits.without import without
from depyf.bytecode.lower import Lowered


def drop_tracing_flags(lowered: Lowered, variables: Collection[str]) -> Lowered:
    """``lowered`` without such settings of ``variables``, which nothing looks up by name; itself where there are none."""
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
