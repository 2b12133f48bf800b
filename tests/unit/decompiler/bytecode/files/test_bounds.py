"""How much text and code a file comes to is counted by what its instructions use."""

from __future__ import annotations

import pytest

from depyf.decompiler.bytecode.codeunit import CodeUnit, units
from depyf.decompiler.bytecode.files.bounds import FUNCTION, _Sizes
from depyf.decompiler.bytecode.files.unmarshal import loads
from depyf.decompiler.bytecode.versions import SUPPORTED
from depyf.decompiler.verify.recompiling.worker import worker_for
from needs import need

TEXT = (
    "".join(f"def f{n}(a):\n    return [a + {n}, a, {n}]\n" for n in range(16))
    + "x = None\ny = ''\nz = True\nu = -1\n" * 300
)


@pytest.mark.parametrize("version", SUPPORTED)
def test_constants_of_the_interpreter_are_none_of_the_code(version: tuple[int, int]) -> None:
    """3.14 and 3.15 load some constants from a table that all code shares: that is no use of a nested function."""
    need(version)
    unit = loads(worker_for(version).compile(TEXT), version)
    assert isinstance(unit, CodeUnit)
    assert _Sizes().of(unit).code == sum(FUNCTION + len(inner.code) for inner in units(unit))
