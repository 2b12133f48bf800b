"""Stores that the walk skips, because nothing can observe them.

- An empty slot is stored in a variable that has no value (``PUSH_NULL; STORE_FAST x``): that is so already.  Nothing is
  assumed.
- A constant is stored in one of the program's flags for tracing, which nothing in the code reads: ``VARIABLE_NOTE``.
"""

from __future__ import annotations

from depyf.decompiler.bytecode import ops
from depyf.decompiler.bytecode.edits.control_flow import reached, successors
from depyf.decompiler.bytecode.lower import Lowered
from depyf.decompiler.generated.contract import GeneratorContract, looks_up_locals

_BINDS = frozenset({ops.STORE_FAST, ops.RESTORE_FAST})


def empty_stores(code: Lowered) -> frozenset[int]:
    """The instructions that store an empty slot where no value can be."""
    unit = code.unit
    given = {*unit.params, *unit.cellvars, *unit.freevars}
    pairs = [at for at in _stores_after(code, ops.NULL) if code.instrs[at].arg not in given]
    found: set[int] = set()
    for at in pairs:
        name = code.instrs[at].arg
        empty = [other for other in pairs if code.instrs[other].arg == name]
        binding = [
            place
            for place, instr in enumerate(code.instrs)
            if instr.op in _BINDS and instr.arg == name and place not in empty
        ]
        if at not in reached(binding, lambda index: successors(code, index)):
            found |= {at - 1, at}
    return frozenset(found)


def flag_stores(code: Lowered, promises: GeneratorContract) -> frozenset[int]:
    """The instructions that set flags which nothing reads."""
    flags = frozenset(promises.tracing_flags).intersection(code.unit.varnames)
    if not flags or shows_locals(code):
        return frozenset()
    stores = [at for at in _stores_after(code, ops.LOAD_CONST) if code.instrs[at].arg in flags]
    used = {
        instr.arg
        for at, instr in enumerate(code.instrs)
        if instr.op in ops.LOCALS and instr.arg in flags and at not in stores
    }
    return frozenset(place for at in stores if code.instrs[at].arg not in used for place in (at - 1, at))


def _stores_after(code: Lowered, op: str) -> list[int]:
    """The stores to local variables of what an instruction ``op`` has just pushed."""
    entered = {instr.target for instr in code.instrs} | {handler.target for handler in code.handlers}
    return [
        at
        for at, instr in enumerate(code.instrs)
        if at and instr.op == ops.STORE_FAST and code.instrs[at - 1].op == op and at not in entered
    ]


def shows_locals(code: Lowered) -> bool:
    """Whether a code object may ask for its local variables by name."""
    names = {str(instr.arg) for instr in code.instrs if instr.op in (ops.LOAD_GLOBAL, ops.LOAD_NAME)}
    return looks_up_locals(names, code.unit.consts)


def is_resumed(code: Lowered, promises: GeneratorContract) -> bool:
    """Whether it is the rest of a function that the program cut in two."""
    return bool(promises.resumed) and code.unit.name.startswith(promises.resumed)
