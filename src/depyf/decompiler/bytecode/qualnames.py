"""Qualified names of nested functions before 3.11, when code objects did not carry them.

Input: bytecode of CPython 3.8-3.10 and its constants, nested ones as ``CodeUnit``.  Output: the constants with
``qualname`` filled in, from the name that was pushed for MAKE_FUNCTION::

    LOAD_CONST <code>; LOAD_CONST 'outer.<locals>.inner'; MAKE_FUNCTION

For the body of a class that is its name alone; the whole one is what the body begins with::

    LOAD_NAME __name__; STORE_NAME __module__; LOAD_CONST 'outer.<locals>.Class'; STORE_NAME __qualname__
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from depyf.decompiler.bytecode.codeunit import CodeUnit

_STORE_NAME, _LOAD_CONST, _MAKE_FUNCTION, _EXTENDED_ARG = 90, 100, 132, 144  # the same numbers in 3.8, 3.9 and 3.10


def with_qualnames(code: bytes, consts: tuple[Any, ...]) -> tuple[Any, ...]:
    """``consts`` itself where nothing changes."""
    found: dict[int, str] = {}
    before = last = -1  # indices of the constants loaded by the two instructions before this one
    extended = 0
    for offset in range(0, len(code) - 1, 2):
        opcode, arg = code[offset], code[offset + 1] | extended
        if opcode == _EXTENDED_ARG:
            extended = (arg << 8) & 0xFFFFFFFF
            continue
        extended = 0
        if opcode == _MAKE_FUNCTION and before >= 0 and last >= 0:
            unit, name = consts[before], consts[last]
            if isinstance(unit, CodeUnit) and type(name) is str:
                found[before] = _of_class(unit, name)
        before, last = last, arg if opcode == _LOAD_CONST and arg < len(consts) else -1
    if not found:
        return consts
    return tuple(replace(item, qualname=found[k]) if k in found else item for k, item in enumerate(consts))


def _of_class(unit: CodeUnit, name: str) -> str:
    """The qualified name that a class body of this name stores in its prologue; ``name`` itself for anything else."""
    if len(unit.code) < 8 or (unit.code[4], unit.code[6]) != (_LOAD_CONST, _STORE_NAME):
        return name
    constant, target = unit.code[5], unit.code[7]
    if constant >= len(unit.consts) or target >= len(unit.names) or unit.names[target] != "__qualname__":
        return name
    whole = unit.consts[constant]
    return whole if type(whole) is str and whole.rpartition(".")[2] == name.rpartition(".")[2] else name
