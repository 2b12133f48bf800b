"""The old value of an augmented assignment is handed on, and changed in place: ``x += f(y)`` cut in two behind the call.

No source changes what is on the stack in place.  With the value in a variable it is the assignment it was::

    LOAD_FAST S   ...   BINARY +=; STORE_FAST x    ->    LOAD_FAST S; STORE_FAST x; LOAD_FAST x   ...       # x += ...
    LOAD_FAST S   ...   BINARY +=; STORE_ATTR a    ->    ...   BINARY +=; STORE_FAST S; LOAD_FAST S; ...    # S += ...; o.a = S

The first where ``x`` has no value before.  That a variable has another value for a while nobody can tell but by its name.
"""

from __future__ import annotations

from depyf.bytecode import ops
from depyf.bytecode.inserted import Steps, inserted
from depyf.bytecode.lower import Lowered
from depyf.bytecode.origins import origins, read_once


def with_values_assigned(lowered: Lowered) -> Lowered:
    """``lowered`` with each such value in a variable; itself where there are none."""
    instrs = lowered.instrs
    changes = [at for at, instr in enumerate(instrs) if instr.op == ops.BINARY and str(instr.arg).endswith("=")]
    if not changes:
        return lowered
    alone, stacks = read_once(lowered), origins(lowered)
    loads = [stacks[at][-2] if at in stacks else -1 for at in changes]
    around: dict[int, tuple[Steps, Steps]] = {}
    for at, load in zip(changes, loads):
        if load not in alone or loads.count(load) > 1:
            continue
        after = instrs[at + 1]
        if after.op == ops.STORE_FAST and _is_new(lowered, after.arg, at + 1):
            around[load] = (), _through(after.arg)
        else:
            around[at] = (), _through(instrs[load].arg)
    return inserted(lowered, around) if around else lowered


def _through(variable: str) -> Steps:
    return (ops.STORE_FAST, variable), (ops.LOAD_FAST, variable)


def _is_new(lowered: Lowered, variable: str, at: int) -> bool:
    """Whether nothing gives the variable a value but the store at ``at``, so that nothing reads it before."""
    stores = (ops.STORE_FAST, ops.RESTORE_FAST, ops.LOAD_FAST_CLEAR, ops.DELETE_FAST)
    others = (other for place, other in enumerate(lowered.instrs) if place != at)
    unit = lowered.unit
    known = (*unit.params, *unit.cellvars, *unit.freevars)
    return variable not in known and not any(other.op in stores and other.arg == variable for other in others)
