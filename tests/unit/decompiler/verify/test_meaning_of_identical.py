"""IDENTICAL means what ``docs/reference/verdicts.md`` says: raw instructions, as ``dis`` of their own version shows them, are the same.

``raw_instructions.py`` runs in the interpreter of the version and knows nothing of depyf: it leaves out what the page names, and
compares the rest, with operands, jump targets and handlers.
"""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path

import pytest

from depyf.decompiler.driver.pipeline import decompile_unit
from depyf.decompiler.verify import verify
from depyf.decompiler.verify.recompiling.recompile import recompile
from needs import need
from tools.env.interpreters import VERSIONS, number, stdlib_of

PROGRAM = Path(__file__).parents[3] / "support" / "raw_instructions.py"
MODULES = ("textwrap", "contextlib", "heapq", "asyncio/tasks")
ENOUGH = 100
"""Code objects of these modules that must be IDENTICAL, so that there is something to look at."""
Row = tuple[str, str, str, list[str]]


@cache
def decompiled(version: str) -> tuple[Row, ...]:
    """For each module its name, its source, its text and the verdicts."""
    rows = []
    for module in MODULES:
        source = (stdlib_of(need(version)) / f"{module}.py").read_text(encoding="utf-8")
        found = decompile_unit(recompile(source, number(version)).unit)
        rows.append((module, source, found.source, [verdict.status.value for verdict in found.verdicts]))
    return tuple(rows)


def compared(version: str, rows: tuple[Row, ...]) -> list[str]:
    """What the program of ``raw_instructions.py`` says: a line for each difference, then a sum."""
    lines = "\n".join(map(repr, rows))
    command = [need(version), "-I", "-W", "ignore", str(PROGRAM)]
    done = subprocess.run(
        command, input=lines, capture_output=True, text=True, check=True, timeout=300, encoding="utf-8"
    )
    return done.stdout.splitlines()


@pytest.mark.parametrize("version", VERSIONS)
def test_a_sample_of_the_library(version: str) -> None:
    *different, total = compared(version, decompiled(version))
    assert different == []
    assert int(total.split()[0]) > ENOUGH


WRONG = (
    ("def f(x): return x + 1\n", "def f(x): return x + 2\n"),
    ("def f(x): return x + 1\n", "def f(x): return x + 1.0\n"),
    ("def f(x, y): return x + y\n", "def f(x, y): return y + x\n"),
    ("def f(x, y):\n  if x: y()\n", "def f(x, y):\n  if not x: y()\n"),
    ("def f(x):\n  while x: x()\n", "def f(x):\n  if x: x()\n"),
    ("def f(x):\n  try: x()\n  except x: pass\n", "def f(x):\n  x()\n  try: pass\n  except x: pass\n"),
    ("def f(x):\n  try: x(); x.y()\n  finally: x.z()\n", "def f(x):\n  x()\n  try: x.y()\n  finally: x.z()\n"),
    ("__firstlineno__ = 1\n", "\n__firstlineno__ = 2\n"),
    ("__static_attributes__ = ('a', 'b')\n", "__static_attributes__ = ('b', 'a')\n"),
)


@pytest.mark.parametrize("version", VERSIONS)
def test_other_instructions_are_seen_and_never_identical(version: str) -> None:
    """The program that looks can fail, and where it does the verdict is another one."""
    need(version)
    for one, other in WRONG:
        verdicts = verify(recompile(one, number(version)).unit, recompile(other, number(version)).unit)
        assert any(verdict.status.value != "IDENTICAL" for verdict in verdicts), other
        claimed = ["IDENTICAL"] * len(verdicts)
        assert len(compared(version, (("wrong", one, other, claimed),))) > 1, other


ALIKE = (
    ("def f(x, y):\n  raise x\n  y()\n", "def f(x, y):\n  raise x\n"),
    ("def f(x):\n  return 1\n  x()\n", "def f(x):\n  return 1\n"),
    ("def f(x):\n  pass\n  x()\n", "def f(x):\n  x()\n"),
    ("def f(x):\n  while True: x()\n  x.y()\n", "def f(x):\n  while True:\n    x()\n"),
)


@pytest.mark.parametrize("version", VERSIONS)
def test_what_is_left_out_of_account(version: str) -> None:
    need(version)
    for one, other in ALIKE:
        verdicts = verify(recompile(one, number(version)).unit, recompile(other, number(version)).unit)
        assert {verdict.status.value for verdict in verdicts} == {"IDENTICAL"}, other
        assert len(compared(version, (("alike", one, other, ["IDENTICAL"] * len(verdicts)),))) == 1, other
