"""Since 3.14 a call with ``*args`` always has a slot for the mapping.  Dynamo pushes its NULL early and swaps."""

from __future__ import annotations

import dataclasses

import pytest

from depyf.decompiler.bytecode.versions import spec_for
from depyf.decompiler.driver.pipeline import decompile_unit
from foreign import VERSIONS, compiled_text, walk

TEXT = "def g(f, a):\n    f\n    a\n    return f(*a)\n"
CODE = (
    "RESUME 0, LOAD_FAST 0, LOAD_FAST 1, PUSH_NULL 0, PUSH_NULL 0, SWAP 3, SWAP 2, CALL_FUNCTION_EX 0, RETURN_VALUE 0"
)


@pytest.mark.parametrize("version", [v for v in VERSIONS if v in ("3.14", "3.15")])
def test_null_from_further_away(version):
    module = compiled_text(version, TEXT)
    unit = next(unit for unit in walk(module) if unit.name == "g")
    spec = spec_for(unit.version)
    code = b""
    for part in CODE.split(", "):
        name, arg = part.split()
        number = spec.opnames.index(name)
        code += bytes([number, int(arg)]) + bytes(spec.caches[number])
    result = decompile_unit(dataclasses.replace(unit, code=code))
    assert "return f(*a)" in result.source
    assert [str(verdict.status.name) for verdict in result.verdicts] == ["EQUIVALENT"]
