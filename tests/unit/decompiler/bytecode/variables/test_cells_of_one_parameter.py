"""Two cells of one parameter (up to 3.10): the first takes its value away, the second is empty."""

from __future__ import annotations

import subprocess
from dataclasses import replace

import pytest

from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.driver.pipeline import decompile_unit
from depyf.decompiler.verify.verdict import Status
from foreign import VERSIONS, compiled_text
from needs import need
from tools.env.interpreters import number

SOURCE = """
def f(a, b):
    def g():
        return a, b
    return g
"""
RUN = """
def made():
    code = next(c for c in compile({source!r}, "cells", "exec").co_consts if hasattr(c, "co_code"))
    return type(made)(code.replace(co_cellvars=("a", "a")), {{}})
text = {{}}
exec({text!r}, text)
for f in made(), text["f"]:
    g = f(1, 2)
    print(g.__closure__[0].cell_contents)
    try:
        g()
    except NameError:
        print("unbound")
"""
APART = [version for version in VERSIONS if number(version) <= (3, 10)]


@pytest.mark.parametrize("version", APART)
def test_the_second_cell_is_empty(version: str) -> None:
    def change(const: object) -> object:
        return replace(const, cellvars=("a", "a")) if type(const) is CodeUnit else const

    unit = compiled_text(version, SOURCE)
    found = decompile_unit(replace(unit, consts=tuple(map(change, unit.consts))))
    assert [v.status for v in found.verdicts] == [Status.IDENTICAL, Status.EQUIVALENT, Status.EQUIVALENT]
    script = RUN.format(source=SOURCE, text=found.source)
    ran = subprocess.run([need(version), "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["1", "unbound", "1", "unbound"]
