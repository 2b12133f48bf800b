"""Time grows linearly with the size of the code, pretty and plain, and plain text does not nest deeper with it."""

from __future__ import annotations

import time
import types
from collections.abc import Callable

import pytest

from depyf.bytecode.codeunit import CodeUnit
from depyf.options import Options
from depyf.pipeline import decompile_unit

SMALL, LARGE = 100, 800
"""Repetitions; the large programs have between 12 000 and 37 000 instructions."""

SHAPES: dict[str, Callable[[int], str]] = {
    "ifs": lambda i: f"    if a({i}):\n        b({i})\n    else:\n        c({i})\n",
    "loops": lambda i: f"    for x in a({i}):\n        b({i})\n    while c({i}):\n        b(x)\n",
    "tries": lambda i: f"    try:\n        a({i})\n    except E:\n        b({i})\n    finally:\n        c({i})\n",
    "withs": lambda i: f"    with a({i}) as x:\n        b({i})\n",
    "returns": lambda i: f"    if a({i}) and b({i}) or c({i}):\n        return {i}\n    x = a if b else c\n",
}


def program(shape: str, count: int) -> types.CodeType:
    source = "def f(a, b, c, E):\n" + "".join(SHAPES[shape](i) for i in range(count))
    module = compile(source, shape, "exec", dont_inherit=True)
    return next(const for const in module.co_consts if isinstance(const, types.CodeType))


def seconds(code: types.CodeType, idioms: bool) -> float:
    started = time.process_time()
    result = decompile_unit(CodeUnit.from_code(code), Options(idioms=idioms))
    assert result.proven, result.verdicts[0].reason
    return time.process_time() - started


@pytest.mark.parametrize("idioms", [True, False], ids=["pretty", "plain"])
@pytest.mark.parametrize("shape", sorted(SHAPES))
def test_linear(shape: str, idioms: bool) -> None:
    small = min(seconds(program(shape, SMALL), idioms) for _ in range(2))
    large = seconds(program(shape, LARGE), idioms)
    assert large < 4 * LARGE / SMALL * max(small, 0.02)
