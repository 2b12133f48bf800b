"""Restores an augmented assignment whose old value is passed on: ``x += f(y)`` split after the call.

No source changes a value on the stack in place.  With the value in a variable it is an augmented assignment again::

    LOAD_FAST S   ...   BINARY +=; STORE_FAST x    ->    LOAD_FAST S; STORE_FAST x; LOAD_FAST x   ...       # x += ...
    LOAD_FAST S   ...   BINARY +=; STORE_ATTR a    ->    ...   BINARY +=; STORE_FAST S; LOAD_FAST S; ...    # S += ...;
    o.a = S

The first where nothing reads a value that ``x`` has before; a loop may lead back to it.  That a variable has another
value for a while shows only to what looks it up by name.
"""

from __future__ import annotations

from depyf.decompiler.bytecode import ops
from depyf.decompiler.bytecode.edits.control_flow import reached, successors
from depyf.decompiler.bytecode.edits.origins import origins, read_once
from depyf.decompiler.bytecode.edits.splice import Steps, inserted
from depyf.decompiler.bytecode.lower import Lowered

_CHANGES = ops.LOCALS - {ops.LOAD_FAST}


def complete_augassign(lowered: Lowered, *, only_new: bool = False) -> Lowered:
    """``lowered`` with each such value in a variable; itself where there are none.

    ``only_new``: leave alone what would change a parameter, and so release its value.
    """
    instrs = lowered.instrs
    changes = [at for at, instr in enumerate(instrs) if instr.op == ops.BINARY and str(instr.arg).endswith("=")]
    alone = read_once(lowered) if changes else frozenset[int]()
    if not alone:
        return lowered
    stacks = origins(lowered)
    changed: dict[int, list[int]] = {}
    for at in changes:
        for load in stacks[at][-2] & alone if at in stacks else ():
            changed.setdefault(load, []).append(at)
    around: dict[int, tuple[Steps, Steps]] = {}
    for load, (at, *more) in changed.items():
        stored = instrs[at + 1].arg if instrs[at + 1].op == ops.STORE_FAST else None
        others = [instrs[other] for other in stacks[at][-2] - {load, -1}]
        if more or -1 in stacks[at][-2] or any((i.op, i.arg) != (ops.LOAD_FAST, stored) for i in others):
            continue
        if stored is not None and (_is_new(lowered, stored, at + 1) or not only_new and _is_dead(lowered, stored)):
            around[load] = (), _through(stored)
        elif not others and not only_new:
            around[at] = (), _through(instrs[load].arg)
    return inserted(lowered, around) if around else lowered


def _through(variable: str) -> Steps:
    return (ops.STORE_FAST, variable), (ops.LOAD_FAST, variable)


def _is_dead(lowered: Lowered, variable: str) -> bool:
    """Whether nothing reads what is in the variable at the beginning."""
    uses = {at: i.op for at, i in enumerate(lowered.instrs) if i.op in ops.LOCALS and i.arg == variable}
    seen = reached([0], lambda at: () if at in uses else successors(lowered, at))
    unit = lowered.unit
    return variable not in unit.cellvars + unit.freevars and all(
        op == ops.STORE_FAST for at, op in uses.items() if at in seen
    )


def _is_new(lowered: Lowered, variable: str, at: int) -> bool:
    """Whether nothing but the store at ``at`` gives the variable a value that anything could read before."""
    unit = lowered.unit
    if variable in unit.params + unit.cellvars + unit.freevars:
        return False
    others = [
        place
        for place, other in enumerate(lowered.instrs)
        if place != at and other.op in _CHANGES and other.arg == variable
    ]
    return at not in reached(others, lambda index: successors(lowered, index))
