"""Large code has a stack of its own; what is raised there is raised here, and nothing is left behind."""

import sys
import threading

import pytest

from depyf import deep
from depyf.pipeline import decompile_code
from depyf.verify import Status


def down(steps):
    return 0 if not steps else 1 + down(steps - 1)


def test_large_code_may_nest_deeply():
    before = sys.getrecursionlimit(), threading.stack_size()
    assert deep.deeply(deep.LARGE * 5, lambda: down(deep.LARGE * 4)) == deep.LARGE * 4
    assert (sys.getrecursionlimit(), threading.stack_size()) == before
    with pytest.raises(RecursionError):
        deep.deeply(0, lambda: down(deep.LARGE))
    assert (sys.getrecursionlimit(), threading.stack_size()) == before


def test_an_exception_comes_out():
    with pytest.raises(KeyError, match="inside"):
        deep.deeply(deep.LARGE * 2, lambda: {}["inside"])
    assert deep.deeply(deep.LARGE * 2, lambda: None) is None


def test_without_a_thread_it_is_done_here(monkeypatch):
    def refuse(thread):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    assert deep.deeply(deep.LARGE * 2, threading.current_thread) is threading.main_thread()


def test_thousands_of_early_returns():
    text = "def f(a):\n" + "".join(f"    if a == {i}:\n        return g({i})\n" for i in range(6000))
    namespace = {}
    exec(compile(text, "<returns>", "exec"), namespace)
    found = decompile_code(namespace["f"].__code__)
    assert found.source == text
    assert [verdict.status for verdict in found.verdicts] == [Status.IDENTICAL]
