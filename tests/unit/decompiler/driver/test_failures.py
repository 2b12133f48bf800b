"""Code without a translation costs nothing but itself: what is around it and in it keeps its text and its verdict."""

from __future__ import annotations

import py_compile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import depyf
from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.bytecode.files.unmarshal import loads
from depyf.decompiler.driver import graph_passes
from depyf.decompiler.driver.pipeline import decompile_unit
from depyf.decompiler.driver.rungs import Rung
from depyf.decompiler.driver.state import State
from depyf.decompiler.verify.recompiling.worker import worker_for
from depyf.errors import DecompilationError
from needs import need

SOURCE = """
import os

class A:
    def outer(self, items):
        base = len(items)
        def inner(a):
            return a + base
        class K:
            def method(self):
                return base, super().method()
        return [inner(i) for i in items]

    def other(self):
        return self

class B:
    def method(self):
        return [x for x in self]

def last():
    return 1
"""
HERE = {"A.outer": {"A.outer.<locals>.<listcomp>"}, "B": set(), "<module>": set()}
"""What fails, and which code in it has no definition of its own that could stand in the text."""


@pytest.fixture
def result(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    first = graph_passes.LOWER

    def lower(state: State) -> None:
        if state.unit.qualname in request.param:
            raise DecompilationError("planted", state.unit.qualname)
        first.run(state)

    failing = replace(first, run=lower)
    monkeypatch.setattr(Rung, "passes", property(lambda rung: (failing, *rung.value[1:])))
    source = tmp_path / "module.py"
    source.write_text(SOURCE)
    py_compile.compile(str(source), str(tmp_path / "module.pyc"), doraise=True)
    return request.param, depyf.decompile_pyc(tmp_path / "module.pyc")


@pytest.mark.parametrize(
    "result", [("A.outer",), ("B",), ("<module>",), ("A.outer", "B", "<module>")], indirect=True, ids=" ".join
)
def test_only_what_failed_is_lost(result: tuple[tuple[str, ...], Any]) -> None:
    failing, found = result
    without_text = {name for planted in failing for name in HERE[planted]}
    verdicts = {verdict.qualname: verdict for verdict in found.verdicts}
    assert {"A.outer.<locals>.inner", "A.outer.<locals>.K.method", "A.other", "B.method", "last"} <= set(verdicts)
    for name, verdict in verdicts.items():
        if name in failing:
            assert verdict.status.value == "FAILED"
            assert verdict.reason == "planted"
        elif name not in without_text:
            assert verdict.proven or verdict.reason.startswith("nested "), f"{name}: {verdict.reason}"
    for name in failing:
        assert f'raise NotImplementedError("depyf: cannot decompile in {name}: planted")' in found.source
    compile(found.source, "text", "exec")


def test_the_value_of_a_type_alias_is_no_function(monkeypatch: pytest.MonkeyPatch) -> None:
    """What stands for its function does not define it: the module around stays complete (3.14+)."""
    need("3.14")
    first = graph_passes.LOWER

    def lower(state: State) -> None:
        if state.unit.qualname == "f":
            raise DecompilationError("planted", "f")
        first.run(state)

    failing = replace(first, run=lower)
    monkeypatch.setattr(Rung, "passes", property(lambda rung: (failing, *rung.value[1:])))
    text = "def f():\n    type T = x\n    def g():\n        return 1\ndef last():\n    return 2\n"
    unit = loads(worker_for((3, 14)).compile(text, 0, 0), (3, 14))
    assert isinstance(unit, CodeUnit)
    found = decompile_unit(unit)
    assert [verdict.qualname for verdict in found.verdicts if verdict.status.value == "FAILED"] == ["f"]
    assert "def T" not in found.source and "def g" in found.source and "def last" in found.source
