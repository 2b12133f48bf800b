"""``BUILD_STRING`` joins strings; given anything else it raises, also where nothing reads the result."""

from __future__ import annotations

from dataclasses import replace

import pytest

from depyf.bytecode.codeunit import CodeUnit
from depyf.verify import verify
from foreign import compiled_text, walk
from interpreters import VERSIONS


@pytest.mark.parametrize("version", VERSIONS)
def test_a_part_that_is_no_string(version: str) -> None:
    unit = function(version, "def f(y):\n    f'y:{y}'\n")
    assert verify(unit, unit)[0].proven
    for other in (None, 3, b"y:"):
        changed = replace(unit, consts=tuple(other if const == "y:" else const for const in unit.consts))
        assert not verify(unit, changed)[0].proven
        assert not verify(changed, unit)[0].proven


@pytest.mark.parametrize("version", VERSIONS)
def test_parts_in_one_another(version: str) -> None:
    nested = function(version, "def f(y, z):\n    return f'a{f\"b{y}\"}{z}'\n")
    flat = function(version, "def f(y, z):\n    return f'ab{y}{z}'\n")
    assert verify(nested, flat)[0].proven


def function(version: str, text: str) -> CodeUnit:
    return next(unit for unit in walk(compiled_text(version, text)) if unit.name == "f")
