"""Annotations tell what parameters are called that have another name, on every version; what makes them may have other names, too."""

from __future__ import annotations

from dataclasses import replace

import pytest

from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.bytecode.variables.slots import renamed, slots_of
from depyf.decompiler.driver.pipeline import decompile_unit
from foreign import VERSIONS, compiled_text
from tools.env.interpreters import number

SOURCE = """\
def f(a: int, b: list[x if y else z] = None, *c: str, d: int, **e) -> int:
    return a, b, c, d, e
"""
OLDER = SOURCE.replace("list[x if y else z]", "x if y else z")


def under_one_name(unit: CodeUnit) -> CodeUnit:
    """``unit`` with one name for all variables of each code object in it."""
    consts = tuple([under_one_name(const) if type(const) is CodeUnit else const for const in unit.consts])
    return replace(renamed(unit, ["I"] * len(slots_of(unit))), consts=consts)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("future", ["", "from __future__ import annotations\n\n\n"])
def test_names_come_from_annotations(version: str, future: str) -> None:
    source = future + (SOURCE if number(version) >= (3, 9) else OLDER)
    found = decompile_unit(under_one_name(compiled_text(version, source)))
    assert [verdict.reason for verdict in found.verdicts if not verdict.proven] == []
    # the one without an annotation, which comes last, has the name that all have
    assert found.source == source.replace("**e", "**I").replace("d, e\n", "d, I\n")
