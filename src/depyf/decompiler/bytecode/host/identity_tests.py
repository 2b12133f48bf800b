"""A function whose ``is`` says the contrary: what it does with the other answer can be seen by running it.

Input: code of the running interpreter and a line.  Output: a code object of the same layout.
"""

from __future__ import annotations

from types import CodeType

from depyf.decompiler.bytecode.host.assemble import disassemble


def with_contrary_is(code: CodeType, line: int) -> CodeType | None:
    """``code`` with ``is`` and ``is not`` exchanged where they stand on ``line``; None unless there is one there."""
    found = [op for op in disassemble(code) if op.name == "IS_OP" and op.position[0] == line]
    if len(found) != 1:
        return None
    text = bytearray(code.co_code)
    text[found[0].start + 1] ^= 1
    return code.replace(co_code=bytes(text))
