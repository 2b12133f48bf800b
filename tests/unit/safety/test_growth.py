"""What a decompilation does is bounded by the size of the file, whatever its shape: counted in steps and in calls.

Each shape is decompiled in a process of its own, whose budget is a small part of the real one, so that little is enough to
spend it; nothing nests over several threads there, so that all calls are counted.
"""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.driver.pipeline import decompile_unit
from depyf.decompiler.verify import Status
from depyf.errors import BytecodeError
from depyf.native import build
from depyf.safety import budget
from depyf.safety.budget import TooMuchWork
from growing import GROWING, MADE_BY_A_COMPILER
from needs import HOST, need
from tools.env.interpreters import VERSIONS

SUPPORT = Path(__file__).parents[3] / "support"
SMALL = 40
"""The budget is divided by this."""
SIZES = 75, 150
CALLS_A_STEP = 25
"""Calls that are made for a step which is counted, at most."""

CHILD = """
import base64, json, sys, threading
sys.path[:0] = {paths!r}
from growing import GROWING
from depyf.decompiler.bytecode.files.pyc import unit_of_pyc
from depyf.decompiler.driver.pipeline import decompile_unit
from depyf.errors import DepyfError
from depyf.safety import budget, depth

budget.ROOM //= {small}; budget.PART_ROOM //= {small}
depth.LEVELS = depth._LEVELS_IN_OWN = 1 << 30
depth._is_deep = lambda: False
sys.setrecursionlimit(1 << 30)  # this process is ours
threading.stack_size(1 << 29)
calls = 0
made = []
real = budget.Budget.__init__

def init(self, name, size):
    real(self, name, size)
    made.append((self, self.left))

def count(frame, event, arg):
    global calls
    calls += event in ("call", "c_call")

def work():
    global calls
    decompile_unit(unit_of_pyc(GROWING["tries_in_a_row"](8)))
    for name, n, given in json.load(sys.stdin):
        data = base64.b64decode(given) or GROWING[name](n)
        made.clear()
        calls = 0
        budget.Budget.__init__ = init
        sys.setprofile(count)
        try:
            verdicts = decompile_unit(unit_of_pyc(data)).verdicts
            outcome = next((verdict.reason for verdict in verdicts if not verdict.proven), "")
        except DepyfError as error:
            outcome = type(error).__name__ + ": " + str(error)
        sys.setprofile(None)
        budget.Budget.__init__ = real
        steps = sum(start - one.left for one, start in made)
        allowed = sum(start for one, start in made)
        print(json.dumps([name, n, len(data), steps, allowed, calls, outcome]), flush=True)

thread = threading.Thread(target=work)
thread.start()
thread.join()
"""


@cache
def measured() -> dict[tuple[str, int], list[Any]]:
    """For each shape in two sizes: what was made of it."""
    return _measure([(name, n, "") for name in GROWING for n in SIZES])


def _measure(wanted: list[tuple[str, int, str]]) -> dict[tuple[str, int], list[Any]]:
    """In a process of its own; with "" as the file the shape is made by the running interpreter."""
    child = CHILD.format(paths=[str(SUPPORT), *sys.path], small=SMALL)
    command, given = [sys.executable, "-c", child], json.dumps(wanted)
    done = subprocess.run(command, input=given, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-1000:]
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    return {(row[0], row[1]): row[2:] for row in rows}


COMPILE = """
import base64, importlib.util, json, marshal, sys
made = []
for name, n, text in json.load(sys.stdin):
    try:
        code = compile(text, "grown.py", "exec", dont_inherit=True)
    except SyntaxError:  # of a later version
        continue
    data = importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(code)
    made.append((name, n, base64.b64encode(data).decode()))
print(json.dumps(made))
"""


def _compiled_by(version: str) -> dict[tuple[str, int], list[Any]]:
    """The shapes that a compiler makes of a text."""
    if version == HOST:  # which has compiled them
        return {key: row for key, row in measured().items() if key[0] in MADE_BY_A_COMPILER}
    texts = [(name, n, make(n)) for name, make in MADE_BY_A_COMPILER.items() for n in SIZES]
    command = [str(need(version)), "-c", COMPILE]
    done = subprocess.run(command, input=json.dumps(texts), capture_output=True, text=True, check=True)
    return _measure(json.loads(done.stdout))


@pytest.mark.parametrize("name", GROWING)
def test_growth(name: str) -> None:
    for n in SIZES:
        size, steps, allowed, calls, _ = measured()[name, n]
        assert size < 100_000
        assert steps <= 1.2 * allowed + 5_000  # what is gone through in one piece may come to an end
        assert calls <= CALLS_A_STEP * allowed


@pytest.mark.parametrize("version", VERSIONS)
def test_what_a_compiler_writes_takes_time_in_proportion(version: str) -> None:
    found = _compiled_by(version)
    names = sorted({name for name, _ in found})
    assert len(names) > 30
    for name in names:
        few, many = (found[name, n] for n in SIZES)
        assert not few[4] and not many[4], (name, few, many)
        if many[0] < 1000:  # CPython nests no deeper, so the shape does not grow: twenty levels of finally on 3.8
            continue
        if build() == "compiled":  # a profiler sees no calls of compiled functions
            continue
        assert many[3] / few[3] < 1.15 * max(2, many[0] / few[0]), (name, few, many)


def test_a_function_that_takes_too_much_fails_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """The code around it, and the whole where that is not spent, go on."""
    text = "def f(a):\n" + "    if a:\n        a()\n" * 40 + "def g(a):\n    return a\n"
    unit = CodeUnit.from_code(compile(text, "t.py", "exec", dont_inherit=True))
    monkeypatch.setattr(budget, "PART_ROOM", 40)
    monkeypatch.setattr(budget, "PART_EACH", 0)
    found = {verdict.qualname: verdict for verdict in decompile_unit(unit).verdicts}
    assert found["f"].status is Status.FAILED and "expand too far" in found["f"].reason
    assert found["g"].proven


def test_a_whole_that_takes_too_much_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    unit = CodeUnit.from_code(
        compile("def f(a):\n" + "    if a:\n        a()\n" * 40, "t.py", "exec", dont_inherit=True)
    )
    monkeypatch.setattr(budget, "ROOM", 40)
    monkeypatch.setattr(budget, "EACH", 0)
    with pytest.raises(TooMuchWork, match="expand too far") as caught:
        decompile_unit(unit)
    assert isinstance(caught.value, BytecodeError)


def test_what_nests_deeper_than_its_size_allows_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each level takes memory; how many real code has grows with its size."""
    deep = CodeUnit.from_code(compile("x = " + "not " * 1500 + "y\n", "t.py", "exec", dont_inherit=True))
    returns = "def f(a, g):\n" + "".join(f"    if a == {i}:\n        return g({i})\n" for i in range(1000))
    real = CodeUnit.from_code(compile(returns, "t.py", "exec", dont_inherit=True))
    monkeypatch.setattr(budget, "LEVELS_ROOM", 400)
    with pytest.raises(TooMuchWork, match="goes deeper than real code"):
        decompile_unit(deep)
    assert all(verdict.proven for verdict in decompile_unit(real).verdicts)
