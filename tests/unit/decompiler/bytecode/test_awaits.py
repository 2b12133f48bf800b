"""An ``await`` of two parts with other code between them, which no compiler writes."""

from __future__ import annotations

import sys

import pytest

from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.bytecode.lower import lower
from depyf.errors import BytecodeError
from tools.fuzz.bytecode import assembler, mutantcfg
from tools.fuzz.bytecode.assembler import Item, Op


async def template(t):  # type: ignore[no-untyped-def]
    await t


def awaiting(between: list[Item]) -> CodeUnit:
    items = [
        *assembler.generator_start(),
        Op("RESUME"),
        Op("LOAD_FAST", 0),
        Op("GET_AWAITABLE", 0),
        *between,
        *mutantcfg._delegate(None, 1, 0),
        Op("RETURN_VALUE"),
    ]
    return CodeUnit.from_code(assembler.assemble(items, template.__code__, (None,), 10))


@pytest.mark.skipif(
    sys.version_info[:2] != (3, 11), reason="later generators have a wrapper, which is not assembled here"
)
def test_what_is_called_between_the_parts_of_an_await_is_told() -> None:
    lower(awaiting([]))
    lower(awaiting([Op("LOAD_FAST", 0), Op("POP_TOP")]))
    called: list[Item] = [Op("PUSH_CALLABLE", 0), Op("LOAD_CONST", 0), Op("INVOKE", 1), Op("POP_TOP")]
    with pytest.raises(BytecodeError, match="called before its await goes on, as in no source"):
        lower(awaiting(called))
