"""Unpacks at once the list in which the values of a frame are passed on.

Dynamo (2.13) resumes a function that deletes variables so, in order that no caller holds what they had
(``torch/_dynamo/resume_execution.py``, ``boxed_call``)::

    LOAD_FAST L; LOAD_CONST 0; SUBSCR; LOAD_CONST None; LOAD_FAST L; LOAD_CONST 0; STORE_SUBSCR
    (stays) LOAD_FAST L; LOAD_CONST 1; SUBSCR; STORE_FAST x; LOAD_CONST None; LOAD_FAST L; LOAD_CONST 1; STORE_SUBSCR

    ->   LOAD_FAST L; UNPACK_SEQUENCE 2; STORE_FAST ___stack0; STORE_FAST x; LOAD_FAST ___stack0

That is equivalent where nothing else holds the list.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from depyf.decompiler.bytecode import ops
from depyf.decompiler.bytecode.edits.splice import inserted, without
from depyf.decompiler.bytecode.lower import Lowered

STACK = "___stack"
"""How the variables for what stays on the stack are called: as Dynamo calls the parameters that it makes elsewhere."""
_READ = (ops.LOAD_FAST, ops.LOAD_CONST, ops.SUBSCR)
_CLEAR = (ops.LOAD_CONST, ops.LOAD_FAST, ops.LOAD_CONST, ops.STORE_SUBSCR)


def unpack_frame_values(lowered: Lowered, lists: Collection[str]) -> Lowered:
    """``lowered`` with such a list, one of the parameters ``lists``, unpacked at once; itself where there is none."""
    for name in lists:
        if name in lowered.unit.params:
            lowered = _unpacked(lowered, name)
    return lowered


def _unpacked(lowered: Lowered, name: str) -> Lowered:
    instrs = list(lowered.instrs)
    gone: set[int] = set()
    targets: list[str] = []
    used = 0
    for at in range(len(instrs)):
        found = _taken(instrs, at, name, len(targets))
        if found is None:
            continue
        variable, count = found
        used += 2
        if variable:
            gone.update(range(at, at + count))
        else:
            variable = STACK + str(len(targets))
            instrs[at] = replace(instrs[at], arg=variable)
            gone.update(range(at + 1, at + count))
        targets.append(variable)
    uses = sum(instr.op in ops.LOCALS and instr.arg == name for instr in lowered.instrs)
    made = [target for target in targets if target.startswith(STACK)]
    if not targets or uses != used or len(set(targets)) < len(targets) or set(made) & set(lowered.unit.varnames):
        return lowered
    steps = ((ops.LOAD_FAST, name), (ops.UNPACK_SEQUENCE, len(targets)), *((ops.STORE_FAST, t) for t in targets))
    unit = replace(lowered.unit, varnames=(*lowered.unit.varnames, *made))
    shorter = without(lowered._replace(unit=unit, instrs=tuple(instrs)), gone)
    return inserted(shorter, {0: (steps, ())})


def _taken(instrs: list[ops.Instr], at: int, name: str, index: int) -> tuple[str, int] | None:
    """The variable that item ``index`` becomes at ``at``, "" where it stays on the stack, and how many instructions
    that takes."""
    stored = at + 3 < len(instrs) and instrs[at + 3].op == ops.STORE_FAST
    steps = (*_READ, ops.STORE_FAST, *_CLEAR) if stored else (*_READ, *_CLEAR)
    part = instrs[at : at + len(steps)]
    if tuple(instr.op for instr in part) != steps:
        return None
    clear = part[-4:]
    values = [part[0].arg, part[1].arg, clear[0].arg, clear[1].arg, clear[2].arg]
    if values != [name, index, None, name, index] or type(part[1].arg) is not int or type(clear[2].arg) is not int:
        return None
    return (str(part[3].arg) if stored else ""), len(steps)
