"""Operands that the interpreter uses where the documentation says that an instruction has none."""

from __future__ import annotations

from dataclasses import replace

import pytest

from depyf.bytecode.lower import lower
from depyf.bytecode.versions import spec_for
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
