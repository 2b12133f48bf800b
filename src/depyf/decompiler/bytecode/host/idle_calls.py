"""Calls of functions without effect, which generated code makes to pop an empty slot off the stack."""

from __future__ import annotations

import types

from depyf.decompiler.bytecode import ops
from depyf.decompiler.bytecode.codeunit import CO_ASYNC_GENERATOR, CO_COROUTINE, CO_GENERATOR, CodeUnit
from depyf.decompiler.bytecode.lower import lower
from depyf.errors import BytecodeError

_SHORT = 64
"""Bytes of code that are looked at: ``return None`` takes fewer in every version."""


def does_nothing(value: object) -> bool:
    """Whether ``value`` is a plain function whose call without arguments gives None and does nothing else."""
    if type(value) is not types.FunctionType:
        return False
    code = value.__code__
    special = code.co_flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR)
    if special or code.co_argcount or code.co_kwonlyargcount or len(code.co_code) > _SHORT:
        return False
    try:
        body = lower(CodeUnit.from_code(code)).instrs
    except BytecodeError:
        return False
    return [(instr.op, instr.arg) for instr in body] == [(ops.LOAD_CONST, None), (ops.RETURN, None)]
