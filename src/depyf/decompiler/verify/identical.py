"""The cheap proof: both codes are the same instructions.

Lowering leaves out what is not compared: line numbers, code that nothing reaches, instructions that do nothing, and the
choice among spellings of one step (superinstructions, short forms, directions of jumps).
``docs/reference/verdicts.md`` says so to the user, and ``tests/unit/decompiler/verify/test_meaning_of_identical.py``
holds raw instructions to it.  ``same_bytes`` looks at the code objects only (no lowering needed); ``same_instructions``
compares lowered code one instruction at a time.  Nested code objects are returned as pairs.
"""

from __future__ import annotations

from depyf.decompiler.bytecode import ops
from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.bytecode.lower import Lowered
from depyf.decompiler.bytecode.tables.class_notes import class_notes
from depyf.decompiler.verify.relation.values import const_key, searched_key

Pairs = list[tuple[CodeUnit, CodeUnit]]


def same_bytes(original: CodeUnit, recompiled: CodeUnit) -> Pairs | None:
    """The nested pairs if both have the same code bytes, tables and constants, else None."""
    if (
        original.code != recompiled.code
        or original.version != recompiled.version
        or original.exctable != recompiled.exctable
        or original.names != recompiled.names
        or original.varnames != recompiled.varnames
        or original.cellvars != recompiled.cellvars
        or original.freevars != recompiled.freevars
        or len(original.consts) != len(recompiled.consts)
    ):
        return None
    nested: Pairs = []
    for left, right in zip(original.consts, recompiled.consts):
        if left is right:
            continue
        if type(left) is CodeUnit:
            if type(right) is not CodeUnit:
                return None
            nested.append((left, right))
        elif type(left) is not type(right) or const_key(left) != const_key(right):
            return None
    return nested


def incidental(note: str, left: object, right: object, units: tuple[CodeUnit, CodeUnit]) -> bool:
    """Whether two constants differ only in what the compiler notes in a class body about its own source text.

    ``note`` is the name it stores them to (``class_notes``): the line a class starts on, its qualified name where what
    is around it was not decompiled (``units`` are the two class bodies; see ``qualname_difference``), or the names that
    its methods assign on ``self``, in an order that depends on the hash seed of the compiling process.
    """
    if note == "__firstlineno__":
        return (left, right) == (units[0].firstlineno, units[1].firstlineno)
    if note == "__qualname__" and (left, right) == (units[0].qualname, units[1].qualname):
        inner = [unit.qualname.split(".")[-3:] for unit in units]  # f, <locals>, Class
        return inner[0] == inner[1] and len(inner[0]) == 3
    if note == "__static_attributes__" and isinstance(left, tuple) and isinstance(right, tuple):
        return sorted(map(repr, left)) == sorted(map(repr, right))
    return False


def noted_by_compiler(original: Lowered, recompiled: Lowered, places: tuple[int, int]) -> str:
    """The name to which the compiler notes something at these places of two class bodies; ``""`` where it is the
    program's."""
    notes = class_notes(original), class_notes(recompiled)
    names = notes[0].get(places[0], ""), notes[1].get(places[1], "")
    return names[0] if names[0] == names[1] else ""


def same_instructions(original: Lowered, recompiled: Lowered) -> Pairs | None:
    """The nested pairs, in order of appearance, if both are the same sequence of instructions, else None."""
    if len(original.instrs) != len(recompiled.instrs):
        return None
    nested: Pairs = []
    handlers: set[tuple[int, int]] = set()
    load_const = ops.LOAD_CONST
    instrs = original.instrs
    units = original.unit, recompiled.unit
    for i, (instr, instr_b) in enumerate(zip(instrs, recompiled.instrs)):
        op, arg, arg_b = instr.op, instr.arg, instr_b.arg
        if op != instr_b.op or instr.target != instr_b.target:
            return None
        if arg is not arg_b:
            if op == load_const:
                if type(arg) is not type(arg_b):
                    return None
                use = instrs[i + 1]
                if type(arg) is CodeUnit:
                    nested.append((arg, arg_b))
                elif not _same_constant(arg, arg_b, use.op):
                    note = noted_by_compiler(original, recompiled, (i + 1, i + 1))
                    if not incidental(note, arg, arg_b, units):
                        return None
            elif arg != arg_b:
                return None
        if instr.handler >= 0 or instr_b.handler >= 0:
            handlers.add((instr.handler, instr_b.handler))
    for left, right in handlers:
        if left < 0 or right < 0 or original.handlers[left] != recompiled.handlers[right]:
            return None
    return nested


def _same_constant(one: object, other: object, use: str) -> bool:
    if use == ops.CONTAINS and type(one) is type(other) is frozenset:
        return searched_key(one) == searched_key(other)
    return const_key(one) == const_key(other)


def first_difference(original: Lowered, recompiled: Lowered) -> str:
    """The first instruction that differs, as text without names, so that equal causes group together."""
    here = f"at line {original.unit.firstlineno}"
    for left, right in zip(original.instrs, recompiled.instrs):
        here = f"at line {left.line}" if left.line is not None else here
        if left.op != right.op:
            return f"{left.op} against {right.op} {here}"
        if left.op != ops.LOAD_CONST and left.arg != right.arg:
            return f"{left.op} with another operand {here}"
    short, long = sorted((original.instrs, recompiled.instrs), key=len)
    if len(short) != len(long):
        where = "at the end, only in" if long is original.instrs else "at the end, not in"
        return f"{long[len(short)].op} {where} the original"
    for left, right in zip(original.instrs, recompiled.instrs):
        if left.target != right.target:
            return f"{left.op} with another target at line {left.line}"
        if (left.handler < 0) != (right.handler < 0):
            return f"{left.op} with {'no' if left.handler < 0 else 'a'} handler in the original at line {left.line}"
    return "constants or handlers"
