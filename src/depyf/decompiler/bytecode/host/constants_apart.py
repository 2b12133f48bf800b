"""Compares instructions without the indices of their constants.

Which number a constant has in ``co_consts`` depends on constants that no instruction loads any more: Dynamo leaves
those of the user's code in place.  Two codes that do the same may differ in nothing else.
"""

from __future__ import annotations

import types
from typing import Any

from depyf.decompiler.bytecode.host.assemble import SPEC

_LOADS = ("LOAD_CONST", "RETURN_CONST", "KW_NAMES")


def constants_apart(made: types.CodeType) -> tuple[bytes, tuple[Any, ...]]:
    """The code bytes of a live code object with 0 for the number of each constant, and the constants that they load, in
    this order.  The bytes tell instructions from inline caches as the interpreter does: by their places."""
    opnames, caches, extended_arg = SPEC.opnames, SPEC.caches, SPEC.extended_arg
    code = bytearray(made.co_code)
    loaded: list[Any] = []
    at = high = 0
    while at < len(code):
        op, arg = code[at], high | code[at + 1]
        if op == extended_arg:
            high = arg << 8
            at += 2
            continue
        if opnames[op] in _LOADS and arg < len(made.co_consts):
            loaded.append(made.co_consts[arg])
            code[at + 1] = 0
            if high:
                code[at - 1] = 0
        high = 0
        at += 2 + caches[op]
    return bytes(code), tuple(loaded)
