"""Lowering keeps the meaning: foreign code, lowered and interpreted here, does what it does at home.

The behaviour suites are compiled by each interpreter, read from the ``.pyc``, lowered, and run by ``vm``; the record of
every observable event must equal the record of the native run.
"""

from __future__ import annotations

import builtins
import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from foreign import compiled_text
from needs import need
from tools.env.interpreters import VERSIONS
from vm import run_module
from vm_values import Unsupported

BEHAVIOUR = Path(__file__).parent
GIVEN = ("case", "log", "fail", "N", "cm", "acm", "pause", "aiter_of", "Tracked", "show")

BEYOND = {
    "deferred_annotations": "the interpreter of the tests evaluates annotations at once",
    "conditional_annotations": "the same",
    "lazy_import_statements": "it runs text that only 3.15 compiles",
    "generator_yield_from": "3.15 iterates over a list without an iterator object, which shows in one error message",
    "generator_expressions": "the same as generator_yield_from",
}

Record = list[list[str]]


def runner() -> ModuleType:
    spec = importlib.util.spec_from_file_location("behaviour_runner", BEHAVIOUR / "runner.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def comparable(record: Record) -> Record:
    """The wording of TypeError and AttributeError differs with who raises it."""
    pattern = r"""(?:TypeError|AttributeError)\((?:'.*?'|".*?")\)"""
    return [[re.sub(pattern, "SomeError", event) for event in events] for events in record]


def parameters() -> list[Any]:
    suites = sorted((BEHAVIOUR / "suites").glob("py3*.py"))
    return [
        pytest.param(version, suite, id=f"{version}-{suite.stem}")
        for version in VERSIONS
        for suite in suites
        if int(suite.stem.removeprefix("py3")) <= int(version.split(".")[1])
    ]


@pytest.mark.parametrize("version, suite", parameters())
def test_same_behaviour(version: str, suite: Path) -> None:
    if suite.stem == "py311" and sys.version_info < (3, 11):
        pytest.skip("before 3.11 the running Python, whose objects the suite works with, has no exception groups")
    command = [need(version), "-I", "-W", "ignore", BEHAVIOUR / "runner.py", suite]
    native: dict[str, Record] = json.loads(subprocess.run(command, capture_output=True, check=True, timeout=600).stdout)
    here = runner()
    namespace: dict[str, Any] = {name: getattr(here, name) for name in GIVEN}
    namespace |= {"__name__": "suite", "__builtins__": builtins}
    run_module(compiled_text(version, suite.read_text(encoding="utf-8")), namespace)
    wrong, compared = [], 0
    for function, inputs in here.CASES:
        name = function.__name__
        try:
            mine = [here.observe(function, text, namespace) for text in inputs or ("",)]
        except Unsupported:
            continue
        if any("Unsupported" in event for events in mine for event in events):
            continue
        compared += 1
        if comparable(mine) != comparable(native[name]) and name not in BEYOND:
            wrong.append(name)
    assert not wrong
    assert compared
