"""Simplifies the end of a class body to that of a function: it only returns None.

    LOAD_CONST <annotate>; MAKE_FUNCTION; STORE_NAME __annotate_func__       (3.14+; stays, without its line: the first)
    LOAD_CONST ("x",); STORE_NAME __static_attributes__                      (3.13+)
    LOAD_CLOSURE __classdict__; STORE_NAME __classdictcell__                 (3.14+)
    LOAD_CLOSURE __class__; COPY 1; STORE_NAME __classcell__; RETURN    or   LOAD_CONST None; RETURN

The compiler copies it to whatever jumps there; only as one place can it be seen that a loop is left.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import takewhile

from depyf.decompiler.bytecode import ops
from depyf.decompiler.bytecode.codeunit import CO_OPTIMIZED, CodeUnit
from depyf.decompiler.cfg.program import NONE, Program
from depyf.safety.rewrites import step

_STORES = (ops.STORE_NAME, ops.STORE_GLOBAL, ops.STORE_DEREF)
_MAKES = frozenset(
    {ops.LOAD_CLOSURE, ops.BUILD_TUPLE, ops.LOAD_CONST, ops.MAKE_FUNCTION, ops.SET_FUNCTION_ATTRIBUTE, *_STORES}
)
_CELLS = ("__classcell__", "__classdictcell__")


def drop_class_ends(program: Program) -> None:
    """Let every end of a class body only return None (edits ``program``)."""
    unit, instrs = program.unit, program.instrs
    if unit.flags & CO_OPTIMIZED or unit.name == "<module>":
        return
    entered = {*program.jump, *(handler.target for handler in program.handlers)}
    for end, instr in enumerate(instrs):
        if instr.op != ops.RETURN:
            continue
        first = end
        seen: set[object] = set()  # what is stored twice was stored by the source first
        while before := _stores(unit, program, first) or _loads(program, first):
            stored = instrs[first - 1].arg
            if stored in seen or not entered.isdisjoint(range(before + 1, first + 1)):
                break
            seen.add(stored)
            first = before
        if end - first > 1:
            instrs[first] = replace(instrs[first], op=ops.LOAD_CONST, arg=None)
            instrs[first + 1], program.next[first + 1] = instr, NONE
            step("reduce the end of a class body to returning None", first)
            ours = {first, first + 1}
            if first and instrs[first - 1].op in _STORES and instrs[first - 1].arg == "__annotate_func__":
                ours.update(takewhile(lambda i: instrs[i].op in _MAKES, range(first - 1, -1, -1)))
                start = first - 1
                while start and instrs[start - 1].op in _MAKES - {*_STORES}:
                    start -= 1
                program.class_ends.add(start)
            for i in ours:
                if instrs[i].line == instrs[0].line:  # that of the whole class
                    instrs[i], program.line[i] = replace(instrs[i], line=None), None


def _loads(program: Program, at: int) -> int:
    """Where what stands before ``at`` begins if it loads what the body returns; 0 if it does not."""
    instr = program.instrs[at - 1]
    returns = program.instrs[at].op == ops.RETURN
    return at - 1 if at and returns and instr.op == ops.LOAD_CONST and instr.arg is None else 0


def _stores(unit: CodeUnit, program: Program, at: int) -> int:
    """Where what stands before ``at`` begins if it is a store of the compiler's own; 0 if it is not."""
    if at < 2:
        return 0
    value, store = program.instrs[at - 2], program.instrs[at - 1]
    if store.op not in _STORES:  # one of another scope where the class declares the name so
        return 0
    if store.arg == "__static_attributes__" and unit.lists_static_attributes:
        return at - 2 if value.op == ops.LOAD_CONST and type(value.arg) is tuple else 0
    if store.arg not in _CELLS:
        return 0
    if value.op == ops.COPY and at > 2 and program.instrs[at].op == ops.RETURN:
        value, at = program.instrs[at - 3], at - 1
    return at - 2 if value.op == ops.LOAD_CLOSURE else 0
