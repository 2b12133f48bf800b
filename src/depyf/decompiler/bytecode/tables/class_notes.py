"""Which instructions of a class body the compiler itself has written, to note where the source text stands.

    LOAD_NAME __name__; STORE_NAME __module__
    LOAD_CONST "f.<locals>.C"; STORE_NAME __qualname__
    LOAD_CONST 12; STORE_NAME __firstlineno__                               (3.13+)
    ...
    LOAD_CONST ("x", "y"); STORE_NAME __static_attributes__                 (3.13+)
    LOAD_CLOSURE __class__; COPY 1; STORE_NAME __classcell__; RETURN

A program may store to the same names; that is a statement of its own.
"""

from __future__ import annotations

from depyf.decompiler.bytecode import ops
from depyf.decompiler.bytecode.codeunit import CO_OPTIMIZED
from depyf.decompiler.bytecode.lower import Lowered

_STORES = (ops.STORE_NAME, ops.STORE_GLOBAL, ops.STORE_DEREF)
_CELLS = ("__classcell__", "__classdictcell__")
_MODULE = "<module>"


def class_notes(lowered: Lowered) -> dict[int, str]:
    """The stores to ``__qualname__``, ``__firstlineno__`` and ``__static_attributes__`` that the compiler has written:
    their places, with the name."""
    unit, instrs = lowered.unit, lowered.instrs
    stores = [at for at, instr in enumerate(instrs[:6]) if instr.op in _STORES]
    heads = [instrs[at].arg for at in stores]
    if (
        unit.flags & CO_OPTIMIZED
        or unit.name == _MODULE
        or stores[:2] != [1, 3]
        or heads[:2] != ["__module__", "__qualname__"]
    ):
        return {}
    found = {3: "__qualname__"}
    if unit.lists_static_attributes:
        if stores[2:] == [5] and heads[2] == "__firstlineno__" and instrs[4].arg == unit.firstlineno:
            found[5] = "__firstlineno__"
        for at, instr in enumerate(instrs):
            if instr.op in _STORES and instr.arg == "__static_attributes__" and _ends(lowered, at + 1):
                found[at] = instr.arg
    return found


def _ends(lowered: Lowered, at: int) -> bool:
    """Whether nothing but the cells of a class are stored from ``at`` to the end of its body."""
    instrs = lowered.instrs
    for _ in range(len(instrs)):
        instr = instrs[at]
        if instr.op == ops.RETURN:
            return True
        if instr.op == ops.JUMP:
            at = instr.target
            continue
        if instr.op not in (ops.LOAD_CLOSURE, ops.LOAD_CONST, ops.COPY):
            if instr.op not in _STORES or instr.arg not in _CELLS:
                return False
        at += 1
    return False
