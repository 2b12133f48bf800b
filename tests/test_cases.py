"""Every file in ``tests/cases`` is compiled, decompiled and compared with itself, on every interpreter found.

Four questions a case answers: is the text what a person would write (the golden text), is it proven, and is it still
proven with all idioms off ("ugly" mode), when the total structuring alone writes the control flow, and where the code has
lost its line numbers and columns ("unlined"), which are evidence for the text only.

What is known to be worse than it should is named in the file: the version, the mode, the function, and the verdict with its
reason or the text that is written (``casefiles``).  Nothing else may differ, what differs must do so as it says, and known texts
are run beside the source.
"""

from __future__ import annotations

import functools
import re
import subprocess
import sys
import tempfile
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import casefiles
from casefiles import Case
from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.bytecode.files.pyc import read_pyc
from depyf.decompiler.driver.pipeline import Decompiled, decompile_unit
from depyf.decompiler.options import Options
from depyf.decompiler.verify.verdict import Verdict
from needs import need
from tools.env import interpreters
from tools.proof.attack.execution import Executor
from tools.proof.attack.findings import without_ends

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


def parameters() -> list[Any]:
    return [
        pytest.param(case, version, id=f"{case.name}-{version}")
        for version in interpreters.VERSIONS
        for case in CASES
        if case.runs_on(casefiles.parse_version(version))
    ]


MODES = ("pretty", "ugly", "unlined")


def result_of(case: Case, version: str, mode: str) -> Decompiled:
    unit = unit_of(case, version)
    if mode == "unlined":
        return decompile_unit(unlined(unit))
    return decompile_unit(unit, Options(idioms=mode != "ugly"))


def unproven(result: Decompiled) -> dict[str, str]:
    """The verdict of each function that is not proven, by qualified name; not what is so because of another.

    Code around an unproven function is not proven either, and what a failed function contains has no counterpart in its text.
    """
    bad = [verdict for verdict in result.verdicts if not verdict.proven]
    own: dict[str, str] = {}
    for verdict in bad:
        if not is_consequence(verdict):
            text = f"{verdict.status.value} {without_places(verdict.reason)}"
            before = own.get(verdict.qualname)
            own[verdict.qualname] = f"{before} and {text}" if before else text
    failed = [name for name, text in own.items() if text.startswith("FAILED")]
    for verdict in bad:
        name, reason = verdict.qualname, verdict.reason
        around = any(outer == "<module>" or name.startswith(outer + ".") for outer in failed)
        inside = any(name == "<module>" or inner.startswith(name + ".") for inner in own)
        if is_consequence(verdict) and not (around if reason == NO_COUNTERPART else inside):
            own[name] = f"{verdict.status.value} {reason}"
    return own


NO_COUNTERPART = "has no counterpart in the recompiled code"


def is_consequence(verdict: Verdict) -> bool:
    return verdict.reason == NO_COUNTERPART or bool(re.fullmatch(r"nested \S+ is not proven", verdict.reason))


def without_places(reason: str) -> str:
    """A reason without offsets and lines, which differ between versions."""
    return re.sub(r" \(offset[^)]*\)|, line \d+(?=\))", "", reason)


@pytest.mark.parametrize(("case", "version"), parameters())
def test_pretty(case: Case, version: str, request: pytest.FixtureRequest) -> None:
    if case.name in STORED_TWICE and swaps_stores(version):
        pytest.skip(f"this Python {version} compiles `a, a = b, c` to code that assigns b last")
    result = result_of(case, version, "pretty")
    number = casefiles.parse_version(version)
    if request.config.getoption("--update") and result.source != case.expected(number):
        casefiles.update(casefiles.read_case(case.path), number, result.source)
        return
    assert unproven(result) == {}
    assert result.source == case.expected(number)
    assert casefiles.differing(result.source, case.wanted(number)) == set(case.known_on(number, "pretty"))


@pytest.mark.parametrize(("case", "version"), parameters())
def test_ugly(case: Case, version: str) -> None:
    assert unproven(result_of(case, version, "ugly")) == case.known_on(casefiles.parse_version(version), "ugly")


@pytest.mark.parametrize(("case", "version"), parameters())
def test_unlined(case: Case, version: str) -> None:
    assert unproven(result_of(case, version, "unlined")) == case.known_on(casefiles.parse_version(version), "unlined")


KNOWN = [
    pytest.param(case, version, mode, id=f"{case.name}-{version}-{mode}")
    for version in interpreters.VERSIONS
    for case in CASES
    for mode in MODES
    if case.runs_on(number := casefiles.parse_version(version)) and case.known_on(number, mode)
]
OUTCOME = """
import sys, warnings
warnings.simplefilter("ignore")
try:
    exec(compile(sys.stdin.read(), "module", "exec", dont_inherit=True), {"__name__": "module"})
except Exception as error:
    print(type(error).__name__)
"""


def outcome(version: str, text: str) -> str:
    """How a module ends that is run: the type of its exception, or nothing."""
    done = subprocess.run([need(version), "-I", "-c", OUTCOME], input=text, text=True, capture_output=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


FIND_FUNCTION = """
import ast, sys
(node,) = [node for node in ast.parse(sys.stdin.read()).body if getattr(node, "name", "") == sys.argv[1]]
print(node.lineno, node.end_lineno)
"""


def function_text(text: str, name: str, version: str) -> str:
    """The text of a function of the module; the grammar is that of ``version``."""
    command = [need(version), "-I", "-W", "ignore", "-X", "utf8", "-c", FIND_FUNCTION, name]
    done = subprocess.run(command, input=text, capture_output=True, check=True, encoding="utf-8")
    first, last = map(int, done.stdout.split())
    return "\n".join(text.splitlines()[first - 1 : last])


@pytest.mark.parametrize(("case", "version", "mode"), KNOWN)
def test_known_texts_run(case: Case, version: str, mode: str) -> None:
    """The module runs as the source does; so do the functions that are known to differ, on objects that record everything."""
    known = case.known_on(casefiles.parse_version(version), mode)
    result = result_of(case, version, mode)
    failed = [name for name, reason in known.items() if reason.startswith("FAILED")]
    runs_failed = any(name == "<module>" or f"class {name}" in case.source for name in failed)
    assert outcome(version, result.source) == ("NotImplementedError" if runs_failed else outcome(version, case.source))
    executor = Executor(version)
    try:
        for name in known:
            if name in failed:
                assert name == "<module>" or "raise NotImplementedError" in result.source
            elif name != "<module>":
                sides = [{"text": function_text(text, name, version)} for text in (case.source, result.source)]
                runs = executor.differences(*sides, range(8))
                assert [run for run in runs if without_ends(run[1]) != without_ends(run[2])] == []
    finally:
        executor.close()


def test_no_orphans() -> None:
    """Every file below ``cases`` is a case that some supported version runs."""
    strays = [p.name for p in casefiles.CASES.iterdir() if p.suffix != ".py" and p.name != "__pycache__"]
    assert strays == []
    idle = [c.name for c in CASES if not any(c.runs_on(casefiles.parse_version(v)) for v in interpreters.VERSIONS)]
    assert idle == []
    for case in CASES:
        for known in case.known:
            assert any(
                known.versions[0] <= casefiles.parse_version(v) <= known.versions[1] for v in interpreters.VERSIONS
            )
            if known.mode != "pretty":
                assert known.reason.startswith(("FAILED ", "UNVERIFIED ")), case.name
                assert known.why, f"{case.name}: a verdict alone does not say why no text was found"


def unlined(unit: CodeUnit) -> CodeUnit:
    consts = tuple(unlined(const) if isinstance(const, CodeUnit) else const for const in unit.consts)
    return replace(unit, linetable=b"", consts=consts, live=None)
