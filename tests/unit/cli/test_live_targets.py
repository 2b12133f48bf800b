"""``depyf decompile module:qualname`` shows what ``depyf.decompile`` shows of the live object."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

import depyf
from depyf.cli.exit_status import ExitStatus
from depyf.cli.on_bytecode.targets import Job
from depyf.cli.on_bytecode.work import decompile_one
from depyf.cli.outcome import Outcome


def outcome(target: str) -> Outcome:
    return decompile_one(Job(target, "out.py", 0), None)


def test_a_function_has_its_defaults() -> None:
    found = outcome("textwrap:indent")
    assert found.exit is ExitStatus.PROVEN
    assert found.source == depyf.decompile(textwrap.indent)
    assert "predicate=None" in found.source


def test_a_class_has_its_methods() -> None:
    found = outcome("textwrap:TextWrapper")
    assert found.source == depyf.decompile(textwrap.TextWrapper)
    assert found.source is not None and "\n    def wrap(self, text):\n" in found.source
    assert all(verdict.proven for verdict in found.verdicts)


def test_what_has_no_text() -> None:
    missing, other, value = map(outcome, ("textwrap:nothing", "builtins:int", "textwrap:__doc__"))
    assert (missing.exit, missing.error) == (ExitStatus.UNREADABLE, "textwrap has no 'nothing'")
    assert other.exit is ExitStatus.FAILED and "no class that Python code made" in str(other.error)
    assert value.exit is ExitStatus.UNREADABLE and "has no bytecode" in str(value.error)


def test_a_module_is_imported_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path(tmp_path, "counting_module.py").write_text(
        "with open('count', 'a') as file: file.write('x')\nclass A: pass\nraise KeyError\n", encoding="utf-8"
    )
    monkeypatch.chdir(tmp_path)
    assert outcome("counting_module:A").exit is ExitStatus.UNREADABLE
    assert Path("count").read_text(encoding="utf-8") == "x"
