"""Operands that the interpreter uses where the documentation says that an instruction has none."""

from __future__ import annotations

from dataclasses import replace

import pytest

from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.bytecode.lower import lower
from depyf.decompiler.bytecode.versions import spec_for
from depyf.errors import BytecodeError
from foreign import compiled_text, walk

TEXT = "async def f(a):\n    async for b in a:\n        b()\n"


@pytest.mark.parametrize("version", ["3.8", "3.9", "3.10"])
def test_end_async_for_jumps(version: str) -> None:
    unit = next(unit for unit in walk(compiled_text(version, TEXT)) if unit.name == "f")
    lower(unit)
    at = unit.code[::2].index(spec_for(unit.version).opnames.index("END_ASYNC_FOR")) * 2
    for operand in (2, 1):
        with pytest.raises(BytecodeError, match="it jumps"):
            lower(replace(unit, code=unit.code[: at + 1] + bytes((operand,)) + unit.code[at + 2 :], live=None))


@pytest.mark.parametrize("version", ["3.12", "3.13", "3.14", "3.15"])
def test_functions_have_no_namespace_to_load(version: str) -> None:
    """LOAD_LOCALS raises SystemError there: an attack had put it into the place of a POP_TOP, and it was taken for silent."""
    class_body, function = (
        next(unit for unit in walk(compiled_text(version, text)) if unit.name == "C")
        for text in ("class C:\n    a()\n    b = 1\n", "def C():\n    a()\n    b = 1\n")
    )
    names = spec_for(class_body.version).opnames

    def changed(unit: CodeUnit) -> CodeUnit:
        code = bytearray(unit.code)
        code[2 * code[::2].index(names.index("POP_TOP"))] = names.index("LOAD_LOCALS")
        return replace(unit, code=bytes(code), stacksize=unit.stacksize + 1, live=None)

    lower(changed(class_body))
    with pytest.raises(BytecodeError, match="no namespace"):
        lower(changed(function))
