"""Work grows linearly with the size of the code, pretty and plain, and plain text does not nest deeper with it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.driver.pipeline import decompile_unit
from depyf.decompiler.options import Options
from foreign import compiled_text
from needs import HOST
from work import calls

SMALL, LARGE = 50, 200
"""Repetitions; the large programs have between 3 000 and 9 000 instructions."""
SLACK = 1.05
"""Calls are counted: work that grows linearly stays below the proportion, since some of it is done once."""
VERSIONS = sorted({"3.8", "3.10", "3.14", HOST}, key=lambda version: int(version[2:]))

SHAPES: dict[str, Callable[[int], str]] = {
    "ifs": lambda i: f"    if a({i}):\n        b({i})\n    else:\n        c({i})\n",
    "loops": lambda i: f"    for x in a({i}):\n        b({i})\n    while c({i}):\n        b(x)\n",
    "tries": lambda i: f"    try:\n        a({i})\n    except E:\n        b({i})\n    finally:\n        c({i})\n",
    "withs": lambda i: f"    with a({i}) as x:\n        b({i})\n",
    "returns": lambda i: f"    if a({i}) and b({i}) or c({i}):\n        return {i}\n    x = a if b else c\n",
}


def program(version: str, shape: str, count: int) -> CodeUnit:
    source = "def f(a, b, c, E):\n" + "".join(SHAPES[shape](i) for i in range(count))
    return next(const for const in compiled_text(version, source).consts if isinstance(const, CodeUnit))


def work(unit: CodeUnit, idioms: bool) -> int:
    def decompile() -> None:
        result = decompile_unit(unit, Options(idioms=idioms))
        assert result.proven, result.verdicts[0].reason

    return calls(decompile)


@pytest.mark.parametrize("idioms", [True, False], ids=["pretty", "plain"])
@pytest.mark.parametrize("shape", sorted(SHAPES))
@pytest.mark.parametrize("version", VERSIONS)
def test_linear(version: str, shape: str, idioms: bool) -> None:
    work(program(version, shape, 1), idioms)  # what is read once is no work of the others
    small, large = (work(program(version, shape, count), idioms) for count in (SMALL, LARGE))
    assert large < SLACK * LARGE / SMALL * small
