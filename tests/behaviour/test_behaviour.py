"""Behaviour: each suite is decompiled, then original and decompiled text run in the target interpreter.

Independent of the proof: ``runner.py`` records every observable event (calls, operators, context managers, awaits,
results, exceptions with their causes) and the two records must be equal.  A suite's file name gives its least version.
"""

from __future__ import annotations

import functools
import json
import re
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import pytest

from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.bytecode.files.pyc import read_pyc
from depyf.decompiler.driver.pipeline import decompile_unit
from needs import need
from tools.env import interpreters

HERE = Path(__file__).parent
SUITES = sorted((HERE / "suites").glob("py3*.py"))
HOST = f"{sys.version_info[0]}.{sys.version_info[1]}"
COMPILER = "import py_compile, sys; py_compile.compile(sys.argv[1], sys.argv[2], 'suite', doraise=True)"
Record = dict[str, list[list[str]]]


def least_version(suite: Path) -> tuple[int, int]:
    return 3, int(suite.stem.removeprefix("py3"))


def function_names(suite: Path) -> list[str]:
    text = suite.read_text(encoding="utf-8")
    return re.findall(r"^@case\(.*\)\n(?:async )?def (\w+)\(", text, re.MULTILINE)


def unit_of(suite: Path, version: str) -> CodeUnit:
    if version == HOST:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return CodeUnit.from_code(compile(suite.read_text(encoding="utf-8"), "suite", "exec", dont_inherit=True))
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder, "suite.pyc")
        subprocess.run([need(version), "-I", "-W", "ignore", "-c", COMPILER, suite, target], check=True)
        return read_pyc(target)


def run(version: str, text: str) -> Record:
    python = need(version)
    with tempfile.TemporaryDirectory() as folder:
        module = Path(folder, "suite.py")
        module.write_text(text, encoding="utf-8")
        command = [python, "-I", "-W", "ignore", HERE / "runner.py", module]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    record: Record = json.loads(done.stdout)
    return record


@functools.cache
def both_records(suite: Path, version: str) -> tuple[Record, Record]:
    """What the original text does and what the decompiled text does."""
    original = run(version, suite.read_text(encoding="utf-8"))
    return original, run(version, decompile_unit(unit_of(suite, version)).source)


def parameters() -> list[Any]:
    return [
        pytest.param(suite, version, id=f"{suite.stem}-on-{version}")
        for version in interpreters.VERSIONS
        for suite in SUITES
        if least_version(suite) <= (3, int(version.split(".")[1]))
    ]


KNOWN: dict[tuple[str, str], str] = {}
"""What is not right yet; strict: an entry that has become right fails."""


@pytest.mark.parametrize(("suite", "version"), parameters())
def test_same_behaviour(suite: Path, version: str, subtests: pytest.Subtests) -> None:
    original, decompiled = both_records(suite, version)
    names = function_names(suite)
    assert list(original) == names
    for name in names:
        with subtests.test(function=name):
            same = decompiled.get(name) == original[name]
            if (name, version) in KNOWN:
                assert not same, f"{name} is right on {version} now: take it out of KNOWN"
            else:
                assert decompiled.get(name) == original[name]


def test_there_are_enough() -> None:
    names = [name for suite in SUITES for name in function_names(suite)]
    assert len(names) >= 150
    assert len(set(names)) == len(names)
