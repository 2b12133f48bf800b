"""Work grows linearly with the size of the code, pretty and plain, and plain text does not nest deeper with it."""

from __future__ import annotations

import types
from collections.abc import Callable

import pytest

from depyf.bytecode.codeunit import CodeUnit
from depyf.options import Options
from depyf.pipeline import decompile_unit
from work import calls

SMALL, LARGE = 50, 400
"""Repetitions; the large programs have between 6 000 and 18 000 instructions."""

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


def work(code: types.CodeType, idioms: bool) -> int:
    unit = CodeUnit.from_code(code)

    def decompile() -> None:
        result = decompile_unit(unit, Options(idioms=idioms))
        assert result.proven, result.verdicts[0].reason

    return calls(decompile)


@pytest.mark.parametrize("idioms", [True, False], ids=["pretty", "plain"])
@pytest.mark.parametrize("shape", sorted(SHAPES))
def test_linear(shape: str, idioms: bool) -> None:
    work(program(shape, 1), idioms)  # what is read once is no work of the others
    assert work(program(shape, LARGE), idioms) < 1.2 * LARGE / SMALL * work(program(shape, SMALL), idioms)
