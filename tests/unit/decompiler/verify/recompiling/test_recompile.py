"""Recompilation here and in other interpreters."""

from __future__ import annotations

import os
import select
import sys
from pathlib import Path

import pytest

from depyf.decompiler.verify import Status, verify
from depyf.decompiler.verify.recompiling.interpreters import version_of
from depyf.decompiler.verify.recompiling.recompile import RecompileError, recompile
from depyf.decompiler.verify.recompiling.worker import Worker, WorkerError
from needs import need

HERE = sys.version_info[:2]
VERSIONS = [(3, minor) for minor in range(8, 16)]
SOURCE = """
class A:
    def f(self, x):
        for i in x:
            if i.a:
                i.b(1)
        return [j for j in i]
"""
REWRITTEN = """
class A:
    def f(self, x):
        for i in x:
            __temp_1 = i.a
            if not __temp_1:
                del __temp_1
                continue
            del __temp_1
            i.b(1)
        return [j for j in i]
"""


def test_the_running_version_gives_live_code() -> None:
    found = recompile(SOURCE, HERE, ("A", "f"))
    assert found.code is not None and found.code.co_name == "f"
    assert found.unit.name == "f" and found.module.name == "<module>"


def test_no_future_flag_leaks_in() -> None:
    found = recompile("def f(x: int): pass", HERE)
    assert not found.module.flags & 0x1000000


@pytest.mark.parametrize("version", VERSIONS, ids=lambda v: f"{v[0]}.{v[1]}")
def test_every_version_compiles_and_is_verified(version: tuple[int, int]) -> None:
    need(version)
    left, right = recompile(SOURCE, version, ("A", "f")), recompile(REWRITTEN, version, ("A", "f"))
    assert verify(left.unit, right.unit)[0].status is Status.EQUIVALENT
    assert verify(left.unit, recompile(SOURCE, version, ("A", "f")).unit)[0].status is Status.IDENTICAL
    wrong = recompile(REWRITTEN.replace("b(1)", "b(2)"), version, ("A", "f"))
    assert verify(left.unit, wrong.unit)[0].status is Status.WRONG
    docs = [recompile(f"def f():\n    '{text}'", version, ("f",)).unit for text in "ab"]
    assert [unit.docstring for unit in docs] == ["a", "b"]
    assert verify(*docs)[0].reason == "the docstring differs"


@pytest.mark.parametrize(
    ("text", "path", "reason"),
    [("def f(:", (), "SyntaxError"), ("x = 1", ("f",), "no code object f"), ("x\0", (), "null")],
)
def test_what_does_not_compile_is_one_error(text: str, path: tuple[str, ...], reason: str) -> None:
    with pytest.raises(RecompileError, match=reason):
        recompile(text, HERE, path)


def test_a_missing_version_says_what_to_do() -> None:
    with pytest.raises(RecompileError, match=r"python2\.0 on the PATH"):
        recompile("x", (2, 0))


def test_the_worker_only_compiles(tmp_path: Path) -> None:
    worker = Worker(sys.executable)
    target = tmp_path / "touched"
    try:
        assert worker.compile(f"open({str(target)!r}, 'w')")
        assert not target.exists()
        with pytest.raises(WorkerError, match="SyntaxError"):
            worker.compile("def")
        first = worker._socket
        assert worker.compile("x = 1") and worker._socket is first  # an error does not end it
        worker.close()
        assert worker.compile("x = 1") and worker._socket is not first
    finally:
        worker.close()


def test_a_worker_that_hangs_is_killed() -> None:
    worker = Worker(sys.executable)
    try:
        assert worker.compile("") and worker._handle is not None
        worker.timeout = 0.01
        handle = os.dup(worker._handle)
        with pytest.raises(WorkerError, match=r"died, or took over 0.01 s"):
            worker.compile("x = (" + "y + " * 20000 + "z)\n" * 1 + "a = 1\n" * 200000)
        assert select.select([handle], [], [], 30)[0]  # the process has ended
        os.close(handle)
        worker.timeout = 60.0
        assert worker.compile("x = 1")
    finally:
        worker.close()


def test_what_is_no_interpreter_has_no_version(tmp_path: Path) -> None:
    assert version_of(str(tmp_path / "python3.11")) is None
    assert version_of(sys.executable) == HERE
