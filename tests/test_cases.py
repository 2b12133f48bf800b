"""Every file in ``tests/cases`` is compiled, decompiled and compared with itself, on every interpreter found.

Four questions a case answers: is the text what a person would write (the golden text), is it proven, and is it still
proven with all idioms off ("ugly" mode), when the total structuring alone writes the control flow, and where the code has
lost its line numbers and columns ("unlined"), which are evidence for the text only.
"""

from __future__ import annotations

import functools
import subprocess
import sys
import tempfile
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import casefiles
import interpreters
from casefiles import Case
from depyf.bytecode.codeunit import CodeUnit
from depyf.bytecode.files.pyc import read_pyc
from depyf.driver.pipeline import decompile_unit
from depyf.options import Options
from needs import need

CASES = casefiles.all_cases()
HOST = sys.version_info[:2]
COMPILER = """
import pathlib, py_compile, sys, warnings
warnings.simplefilter("ignore")
for line in sys.stdin.read().splitlines():
    source, target = line.split("\\t")
    py_compile.compile(source, target, pathlib.Path(source).name, doraise=True)
"""


@functools.cache
def compiled(version: str) -> dict[str, Any]:
    """The unit of every case that runs on ``version``, compiled by that version's interpreter."""
    python = need(version)
    cases = [case for case in CASES if case.runs_on(casefiles.parse_version(version))]
    with tempfile.TemporaryDirectory() as folder:
        lines = []
        for case in cases:
            source = Path(folder, case.path.name)
            source.write_text(case.source, encoding="utf-8")
            lines.append(f"{source}\t{source}c")
        subprocess.run([python, "-I", "-c", COMPILER], input="\n".join(lines), text=True, check=True)
        return {case.name: read_pyc(Path(folder, case.name + ".pyc")) for case in cases}


def unit_of(case: Case, version: str) -> CodeUnit:
    if casefiles.parse_version(version) == HOST:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return CodeUnit.from_code(compile(case.source, case.path.name, "exec", dont_inherit=True))
    return compiled(version)[case.name]


@functools.cache
def swaps_stores(version: str) -> bool:
    """Whether this compiler has the bug of 3.11.2 that ``a, a = 1, 2`` leaves 1 in ``a``: the text says so, and is not the source."""
    program = "def f(b, c):\n    a, a = b(), c()\n    return a\nprint(f(lambda: 1, lambda: 2))"
    return interpreters.ask(need(version), program).strip() == "1"


STORED_TWICE = ("stored_or_dropped",)
"""Cases that assign to one name twice at once."""


def parameters(mode: str) -> list[Any]:
    found = []
    for version in interpreters.VERSIONS:
        number = casefiles.parse_version(version)
        for case in CASES:
            if case.runs_on(number):
                reason = case.known_failure(number, mode)
                marks = [pytest.mark.xfail(reason=reason)] if reason else []
                found.append(pytest.param(case, version, id=f"{case.name}-{version}", marks=marks))
    return found


def unproven(result: Any) -> list[str]:
    return [f"{v.qualname}: {v.status.value} {v.reason}" for v in result.verdicts if not v.proven]


@pytest.mark.parametrize(("case", "version"), parameters("pretty"))
def test_pretty(case: Case, version: str, request: pytest.FixtureRequest) -> None:
    if case.name in STORED_TWICE and swaps_stores(version):
        pytest.skip(f"this Python {version} compiles `a, a = b, c` to code that assigns b last")
    result = decompile_unit(unit_of(case, version))
    number = casefiles.parse_version(version)
    if request.config.getoption("--update") and result.source != case.expected(number):
        casefiles.update(casefiles.read_case(case.path), number, result.source)
        return
    assert result.source == case.expected(number)
    assert unproven(result) == []


@pytest.mark.parametrize(("case", "version"), parameters("ugly"))
def test_ugly(case: Case, version: str) -> None:
    result = decompile_unit(unit_of(case, version), Options(idioms=False))
    assert unproven(result) == []


def test_no_orphans() -> None:
    """Every file below ``cases`` is a case that some supported version runs."""
    strays = [p.name for p in casefiles.CASES.iterdir() if p.suffix != ".py" and p.name != "__pycache__"]
    assert strays == []
    idle = [c.name for c in CASES if not any(c.runs_on(casefiles.parse_version(v)) for v in interpreters.VERSIONS)]
    assert idle == []


def unlined(unit: CodeUnit) -> CodeUnit:
    consts = tuple(unlined(const) if isinstance(const, CodeUnit) else const for const in unit.consts)
    return replace(unit, linetable=b"", consts=consts, live=None)


@pytest.mark.parametrize(("case", "version"), parameters("unlined"))
def test_unlined(case: Case, version: str) -> None:
    result = decompile_unit(unlined(unit_of(case, version)))
    assert unproven(result) == []
