"""The constants that name type parameters (3.12+), and the variables that hold these.

LOAD_CONST "T"; [LOAD_CONST <code of the bound>; MAKE_FUNCTION;] INTRINSIC TYPEVAR; COPY; STORE_DEREF T

A source has one name for both.  Where it can be none (``a b``), a text has another one for both.
"""

from __future__ import annotations

from collections.abc import Sequence

from depyf.decompiler.bytecode import ops
from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.bytecode.ops import Instr

_NAMING = frozenset(
    {
        *(("TYPEVAR", 1), ("TYPEVARTUPLE", 1), ("PARAMSPEC", 1)),
        *(("TYPEVAR_WITH_BOUND", 2), ("TYPEVAR_WITH_CONSTRAINTS", 2)),
    }
)
_STORES = (ops.STORE_FAST, ops.STORE_DEREF)
_OF_BOUNDS = frozenset({ops.LOAD_CLOSURE, ops.BUILD_TUPLE, ops.MAKE_FUNCTION, ops.SET_FUNCTION_ATTRIBUTE})


def type_parameter_names(instrs: Sequence[Instr]) -> dict[int, str]:
    """The instructions that load the names of type parameters, in code that a compiler wrote -> the variables that hold
    these."""
    found = {}
    for at, instr in enumerate(instrs):
        if instr.op == ops.INTRINSIC and instr.arg in _NAMING:
            before = at - 1
            if instr.arg[1] == 2:
                while before > 0 and (instrs[before].op in _OF_BOUNDS or _is_part(instrs[before])):
                    before -= 1
            if instrs[before].op == ops.LOAD_CONST and type(instrs[before].arg) is str:
                after = at + 1
                while instrs[after].op in _OF_BOUNDS or _sets_default(instrs[after]):
                    after += 1
                if instrs[after].op == ops.COPY and instrs[after + 1].op in _STORES:
                    found[before] = instrs[after + 1].arg
    return found


def _sets_default(instr: Instr) -> bool:
    return _is_part(instr) or instr.op == ops.INTRINSIC and instr.arg[0] == "SET_TYPEPARAM_DEFAULT"


def _is_part(instr: Instr) -> bool:
    """Whether an instruction loads what a function of the compiler's is made of: its code, or the default of its
    parameter (3.14+)."""
    return instr.op == ops.LOAD_CONST and type(instr.arg) in (CodeUnit, tuple)
