"""What a function asks of its local variables is told by its instructions, not by the names that it has."""

from __future__ import annotations

import ast
from dataclasses import replace
from pathlib import Path

import pytest
from _pytest.assertion.rewrite import rewrite_asserts

from depyf.decompiler.bytecode.codeunit import CodeUnit, nested_units
from depyf.decompiler.driver.pipeline import decompile_unit
from depyf.decompiler.verify.signature import Looks, looks
from foreign import VERSIONS, compiled_text

SHOWN = Looks(True)
ASKED = {
    "return locals()": SHOWN,
    "return [g(v) for v in vars()]": SHOWN,
    "return g(locals)": SHOWN,
    "h = eval\n    return h('x')": SHOWN,
    "return g.f_locals": SHOWN,
    "return g('locals')": SHOWN,
    "g.locals = 1": Looks(),
    "return -g.locals": Looks(),
    "return eval": Looks(),
    "return 'x' in locals()": Looks(False, frozenset("x")),
    "return 'x' not in g.locals() or 'y' in locals()": Looks(False, frozenset("xy")),
    "return g in locals()": SHOWN,
    "return 'x' in locals().values()": SHOWN,
    "return 'x' in (locals() if g else locals())": SHOWN,
    "return 'x' in locals(g)": SHOWN,
}


@pytest.mark.parametrize("version", VERSIONS)
def test_what_a_function_asks(version: str) -> None:
    for body, found in ASKED.items():
        (unit,) = nested_units(compiled_text(version, f"def f(g, x):\n    {body}\n"))
        assert looks(unit) == found, body


def renamed(version: str, text: str, **names: str) -> CodeUnit:
    (unit,) = nested_units(compiled_text(version, text))
    return replace(unit, varnames=tuple(names.get(name, name) for name in unit.varnames))


@pytest.mark.parametrize("version", VERSIONS)
def test_a_name_that_no_source_has_beside_one_that_is_asked_for(version: str) -> None:
    def proven(text: str) -> bool:
        return decompile_unit(renamed(version, text, a="@a")).proven

    assert proven("def f(x):\n    a = x\n    return 'x' in locals(), a\n")
    assert proven("def f(c):\n    a = x = c\n    return 'x' in locals(), 'other' in locals(), a, x\n")
    assert not proven("def f(x):\n    a = x\n    return '@a' in locals(), a\n")
    assert not proven("def f(x):\n    a = x\n    return '_a' in locals(), a\n")
    assert not proven("def f(x):\n    a = x\n    return locals(), a\n")
    assert not proven("def f(c):\n    a = c\n    if c: x = c\n    return 'x' in locals(), a\n")
    assert not proven("def f(x):\n    a = x\n    del x\n    return 'x' in locals(), a\n")


def rewritten(path: str) -> CodeUnit:
    """What pytest runs in the place of a file with tests."""
    source = Path(path).read_bytes()
    tree = ast.parse(source)
    rewrite_asserts(tree, source, path, None)
    return CodeUnit.from_code(compile(tree, path, "exec", dont_inherit=True))


def test_what_pytest_makes_of_a_test() -> None:
    """An assert that names a variable asks whether that is a local one."""
    text = decompile_unit(rewritten(__file__))
    assert "in _py_builtins.locals()" in text.source
    assert text.proven, text.verdicts
