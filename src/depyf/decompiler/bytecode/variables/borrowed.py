"""Whether an inlined comprehension (3.12+) may borrow a slot that has the name of another variable.

In ``[x for x in xs], x`` the first ``x`` may be a slot of its own and the second a free variable or a global.  That is
what the source says where nothing touches the slot outside of comprehensions, and nothing inside means the other
variable.
"""

from __future__ import annotations

from collections.abc import Callable

from depyf.decompiler.bytecode import ops
from depyf.decompiler.bytecode.lower import Lowered
from depyf.decompiler.bytecode.ops import Instr

OF_SLOTS = ops.LOCALS | {
    *(ops.LOAD_DEREF, ops.STORE_DEREF, ops.DELETE_DEREF, ops.LOAD_CLASSDEREF, ops.LOAD_FROM_DICT_OR_DEREF),
    *(ops.LOAD_CLOSURE, ops.MAKE_CELL),
}
"""The operations on the slots of a code object."""
_EDGES = frozenset({ops.LOAD_FAST_CLEAR, ops.RESTORE_FAST})


def apart(lowered: Lowered, slot: str, other: Callable[[Instr], bool]) -> bool:
    """Whether the variable ``slot`` lives in comprehensions only, and no instruction of its own ones is ``other``."""
    instrs = lowered.instrs
    borrowed = dict.fromkeys(instr.arg for instr in instrs if instr.op == ops.LOAD_FAST_CLEAR)
    if slot not in borrowed:
        return False
    touched = [at for at, i in enumerate(instrs) if i.arg == slot and i.op in OF_SLOTS and i.op not in _EDGES]
    if not touched:  # CPython 3.12 may take the slot of the free variable in its place
        return True
    own = _inside(lowered, slot)
    if any(other(instrs[at]) for at in own):
        return False
    rest = [at for at in touched if at not in own]
    # on 3.12 other comprehensions may take the slot for their own, too
    anywhere = set().union(*[_inside(lowered, name) for name in borrowed]) if rest else set()
    return anywhere.issuperset(rest)


def _inside(lowered: Lowered, slot: str) -> set[int]:
    """The instructions that run while a comprehension has ``slot``."""
    instrs, handlers = lowered.instrs, lowered.handlers
    starts = [at + 1 for at, instr in enumerate(instrs) if instr.op == ops.LOAD_FAST_CLEAR and instr.arg == slot]
    work = [(at, 1) for at in reversed(starts)]  # the outer ones first
    found: set[int] = set()
    while work:
        at, depth = work.pop()
        while at not in found:
            instr = instrs[at]
            if instr.arg == slot and instr.op in _EDGES:
                depth += 1 if instr.op == ops.LOAD_FAST_CLEAR else -1
                if not depth:
                    break
            found.add(at)
            if instr.handler >= 0 and instr.op not in ops.SILENT:
                work.append((handlers[instr.handler].target, depth))
            if instr.target >= 0:
                work.append((instr.target, depth))
            if instr.op in ops.TERMINATORS:
                break
            at += 1
    return found
