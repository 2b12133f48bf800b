"""Comprehensions whose iterable a program called something else than ``.0``."""

from __future__ import annotations

from dataclasses import replace

import pytest

from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.bytecode.files.unmarshal import loads
from depyf.decompiler.driver.pipeline import decompile_unit
from depyf.decompiler.verify.assumptions import ITERABLE_NOTE
from depyf.decompiler.verify.recompiling.worker import worker_for
from needs import need

SOURCE = """\
def function(xs, k):
    return sum(x + k for x in xs if x), [x for x in xs], {x: y for x in xs for y in x}, lambda: (x for x in xs)
"""


def renamed(unit: CodeUnit, name: str) -> CodeUnit:
    consts = tuple(renamed(const, name) if isinstance(const, CodeUnit) else const for const in unit.consts)
    varnames = tuple(name if variable == ".0" else variable for variable in unit.varnames)
    return replace(unit, consts=consts, varnames=varnames)


@pytest.mark.parametrize("name", ["implicit0", "xs", ".1", "class"])
@pytest.mark.parametrize("version", [(3, minor) for minor in range(8, 16)])
def test_renamed(version: tuple[int, int], name: str) -> None:
    need(".".join(map(str, version)))
    unit = loads(worker_for(version).compile(SOURCE), version)
    assert isinstance(unit, CodeUnit)
    result = decompile_unit(renamed(unit, name))
    assert result.source.count("for x in xs") == 4
    assert [verdict for verdict in result.verdicts if not verdict.proven] == []
    noted = [verdict for verdict in result.verdicts if ITERABLE_NOTE in verdict.reason]
    assert noted, "what the proof does not look at is said"
