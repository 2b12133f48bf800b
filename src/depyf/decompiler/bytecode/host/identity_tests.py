"""A function whose ``is`` says the contrary: what it does with the other answer can be seen by running it.

Input: code of the running interpreter and a line.  Output: a code object of the same layout.
"""

from __future__ import annotations

import dis
from types import CodeType


def with_contrary_is(code: CodeType, line: int) -> CodeType | None:
    """``code`` with ``is`` and ``is not`` exchanged where they stand on ``line``; None unless there is one there."""
    current, found = None, []
    lines = dict(dis.findlinestarts(code))
    for instruction in dis.get_instructions(code):
        current = lines.get(instruction.offset, current)
        if instruction.opname == "IS_OP" and current == line:
            found.append(instruction.offset)
    if len(found) != 1:
        return None
    text = bytearray(code.co_code)
    text[found[0] + 1] ^= 1
    return code.replace(co_code=bytes(text))
