"""A coroutine that keeps the first value sent, as Dynamo writes them: nothing is popped after RETURN_GENERATOR."""

from __future__ import annotations

import asyncio
import dis
import sys
from typing import Any

import pytest

import depyf


async def add(x: int) -> int:
    return x + 1


@pytest.mark.skipif(sys.version_info < (3, 11), reason="generators return themselves since 3.11")
def test_coroutine_without_pop() -> None:
    code = add.__code__
    names = [instr.opname for instr in dis.get_instructions(code)]
    at = next(i for i in dis.get_instructions(code) if i.opname == "POP_TOP").offset
    assert names.index("POP_TOP") == names.index("RETURN_GENERATOR") + 1
    text = bytearray(code.co_code)
    text[at] = dis.opmap["NOP"]
    made = code.replace(co_code=bytes(text), co_stacksize=code.co_stacksize + 1)

    async def function(x: int) -> Any: ...

    function.__code__ = made
    assert asyncio.run(function(1)) == 2
    found = depyf.decompile(made)
    assert found.endswith("async def add(x):\n    return x + 1\n")
