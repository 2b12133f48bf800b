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

import pytest

from depyf.bytecode.codeunit import CodeUnit
from depyf.driver.pipeline import decompile_unit
from depyf.errors import BytecodeError
from depyf.safety import budget
from depyf.safety.budget import TooMuchWork
from depyf.verify import Status
from growing import GROWING, MADE_BY_A_COMPILER

SUPPORT = Path(__file__).parents[3] / "support"
SMALL = 20
"""The budget is divided by this."""
CALLS_A_STEP = 25
"""Calls that are made for a step which is counted, at most."""

CHILD = """
import json, sys, threading
sys.path[:0] = {paths!r}
from depyf.verify import Status
from growing import GROWING, MADE_BY_A_COMPILER
from depyf.bytecode.files.pyc import unit_of_pyc
from depyf.driver.pipeline import decompile_unit
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
    for name, n in {wanted!r}:
        data = GROWING[name](n)
        made.clear()
        calls = 0
        budget.Budget.__init__ = init
        sys.setprofile(count)
        try:
            decompile_unit(unit_of_pyc(data))
            outcome = ""
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
def measured() -> dict[tuple[str, int], list[object]]:
    """For each shape in two sizes: what was made of it."""
    wanted = [(name, n) for name in GROWING for n in (150, 300)]
    child = CHILD.format(paths=[str(SUPPORT), *sys.path], small=SMALL, wanted=wanted)
    done = subprocess.run([sys.executable, "-c", child], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-1000:]
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    return {(row[0], row[1]): row[2:] for row in rows}


@pytest.mark.parametrize("name", GROWING)
def test_growth(name: str) -> None:
    for n in (150, 300):
        size, steps, allowed, calls, _ = measured()[name, n]
        assert size < 100_000
        assert steps <= 1.2 * allowed + 10_000  # what is gone through in one piece may come to an end
        assert calls <= CALLS_A_STEP * allowed


@pytest.mark.parametrize("name", MADE_BY_A_COMPILER)
def test_what_a_compiler_writes_takes_time_in_proportion(name: str) -> None:
    few, many = measured()[name, 150], measured()[name, 300]
    assert not few[4] and not many[4]
    assert many[3] / many[0] < 1.15 * few[3] / few[0]


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
