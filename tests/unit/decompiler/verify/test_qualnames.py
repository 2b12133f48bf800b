"""Qualified names of nested functions that are not called after what they are nested in: made by hand, or by a program."""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Callable

import pytest

from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.bytecode.files.unmarshal import loads
from depyf.decompiler.driver.pipeline import decompile_unit
from depyf.decompiler.verify import Status, verify
from depyf.decompiler.verify.assumptions import QUALNAME_NOTE
from depyf.decompiler.verify.recompiling.worker import worker_for
from depyf.errors import DecompilationError
from needs import need

VERSIONS = [(3, minor) for minor in range(11, 16)]
SOURCE = """\
def outer(y):
    def inner():
        return lambda: 0
    class C:
        def m(self):
            return 1
    return inner, C, (z for z in y)
"""
DECLARED = "def outer():\n    global inner\n    def inner():\n        def deep():\n            return 1\n        return deep\n    return inner\n"


def compiled(version: tuple[int, int], text: str) -> CodeUnit:
    need(version)
    return loads(worker_for(version).compile(text), version)


def renamed(unit: CodeUnit, name: str, change: Callable[[str], str]) -> CodeUnit:
    """``unit`` with another qualified name for the code object called ``name`` in it."""
    consts = tuple([renamed(c, name, change) if isinstance(c, CodeUnit) else c for c in unit.consts])
    qualname = change(unit.qualname) if unit.name == name else unit.qualname
    return dataclasses.replace(unit, qualname=qualname, consts=consts)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", ["inner", "C", "m", "<lambda>", "<genexpr>"])
def test_a_name_of_its_own_is_an_assumption(version: tuple[int, int], name: str) -> None:
    module = compiled(version, SOURCE)
    found = verify(renamed(module, name, lambda _: "elsewhere.it"), compiled(version, SOURCE))
    verdict = next(v for v in found if v.qualname == "elsewhere.it")
    assert verdict.status is not Status.IDENTICAL
    assert not verdict.proven or QUALNAME_NOTE in verdict.reason
    assert {v.status for v in verify(module, compiled(version, SOURCE))} == {Status.IDENTICAL}


@pytest.mark.parametrize("version", VERSIONS)
def test_another_name_in_the_same_place_is_no_proof(version: tuple[int, int]) -> None:
    changed = renamed(compiled(version, SOURCE), "inner", lambda old: old[:-5] + "other")
    assert not all(v.proven for v in verify(changed, compiled(version, SOURCE)))
    try:
        assert not decompile_unit(changed).proven
    except DecompilationError:
        pass


@pytest.mark.parametrize("version", VERSIONS)
def test_a_global_function_is_called_by_its_name_alone(version: tuple[int, int]) -> None:
    found = decompile_unit(compiled(version, DECLARED))
    assert {v.status for v in found.verdicts} == {Status.IDENTICAL}
    changed = renamed(compiled(version, DECLARED), "inner", lambda old: "outer.<locals>.inner")
    verdicts = verify(changed, compiled(version, DECLARED))
    assert not verdicts[2].proven or QUALNAME_NOTE in verdicts[2].reason


def test_a_name_that_no_source_has_is_named() -> None:
    """The text gives the function another one: the verdict says what that assumes."""

    def outer(a: object) -> object:
        return lambda: a

    inner = next(c for c in outer.__code__.co_consts if isinstance(c, types.CodeType))
    for name in ("a b", "<lambda>_"):
        renamed = outer.__code__.replace(co_consts=tuple(inner.replace(co_name=name) if c is inner else c for c in outer.__code__.co_consts))  # fmt: skip
        verdicts = verify(CodeUnit.from_code(renamed), CodeUnit.from_code(outer.__code__))
        assert "the name of a function which no source can give it" in verdicts[1].reason or not verdicts[1].proven
    assert not any(v.reason for v in verify(CodeUnit.from_code(outer.__code__), CodeUnit.from_code(outer.__code__)))
