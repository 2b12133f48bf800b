"""What is left out for code that does not need it would have changed nothing: the text is the same with it."""

import textwrap
from pathlib import Path

import pytest

from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.cfg.program import Program
from depyf.decompiler.driver import decompilation, statement_passes
from depyf.decompiler.driver.one_pass import Pass
from depyf.decompiler.driver.pipeline import decompile_unit
from depyf.decompiler.driver.rungs import READABLE
from depyf.decompiler.driver.state import State
from depyf.decompiler.options import Options
from depyf.native import build


@pytest.fixture(scope="module")
def unit():
    source = (
        Path(textwrap.__file__).read_text(encoding="utf-8")
        + "def f():\n    import a, b\n    del a, b\n    raise ValueError\n"
    )
    return CodeUnit.from_code(compile(source, "<module>", "exec", dont_inherit=True))


@pytest.mark.skipif(build() == "compiled", reason="compiled code calls its own methods directly")
@pytest.mark.parametrize("idioms", [True, False])
def test_the_text_is_the_same_with_every_pass(unit, idioms, monkeypatch):
    options = Options(verify=False, idioms=idioms)
    expected = decompile_unit(unit, options).source
    entered = []

    def among(step, states):
        entered.append(step.name)
        return states

    monkeypatch.setattr(Pass, "among", among)
    monkeypatch.setattr(Program, "is_one_path", False)
    monkeypatch.setattr(statement_passes, "only_statements", lambda blocks: None)
    assert decompile_unit(unit, options).source == expected
    assert entered


def test_code_without_tests_enters_no_pass_about_tests():
    code = compile("def f(): pass", "<module>", "exec", dont_inherit=True)
    state = State(CodeUnit.from_code(code), decompilation.Decompilation()._nested)
    READABLE[0].run(state)
    left_out = {step.name for step in READABLE if not step.among([state])}
    assert {"short_circuit_exits", "skipped_tests", "matches", "handler_ends"} <= left_out
