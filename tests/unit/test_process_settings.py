"""No setting of the process is changed while we work, not even for a moment; nothing is left for the collector."""

from __future__ import annotations

import _thread
import contextlib
import faulthandler
import gc
import locale
import os
import signal
import sys
import threading
import time
import types
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.driver.pipeline import decompile_code, decompile_unit
from depyf.decompiler.driver.steps import trace_passes
from depyf.decompiler.options import Options

TEXT = """
class C:
    def m(self, a, *, b=1):
        with a as x, b:
            for y in x:
                try:
                    yield [z for z in y if z], lambda: b
                except E as e:
                    raise F from e
                finally:
                    super().m()
        while a and b or self:
            if a < b < 3:
                continue
            self.a[b] += 1
        return {a: b for a in b}
"""
BIG = "def f(a, g):\n" + "".join(f"    if a == {i}:\n        return g({i})\n" for i in range(3000))
SETTERS = [
    (sys, "setrecursionlimit"), (sys, "setswitchinterval"), (sys, "settrace"), (sys, "setprofile"), (gc, "set_threshold"),
    (gc, "disable"), (gc, "enable"), (gc, "freeze"), (gc, "collect"), (gc, "set_debug"), (threading, "stack_size"),
    (_thread, "stack_size"), (threading, "settrace"), (threading, "setprofile"), (signal, "signal"), (signal, "alarm"),
    (signal, "setitimer"), (signal, "set_wakeup_fd"), (warnings, "simplefilter"), (warnings, "filterwarnings"),
    (warnings, "resetwarnings"), (warnings, "catch_warnings"), (faulthandler, "enable"), (locale, "setlocale"),
    (os, "umask"), (os, "chdir"), (os, "nice"),
]  # fmt: skip


def settings() -> dict[str, object]:
    """What can be read without changing it."""
    return {
        "recursion limit": sys.getrecursionlimit(),
        "switch interval": sys.getswitchinterval(),
        "trace": sys.gettrace(),
        "thresholds": gc.get_threshold(),
        "collector": gc.isenabled(),
        "handlers": [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM)],
        "filters": list(warnings.filters),
        "hooks": (sys.excepthook, threading.excepthook, sys.unraisablehook, sys.displayhook, warnings.showwarning),
        "streams": (sys.stdout, sys.stderr, sys.stdin),
        "folder": os.getcwd(),
        "environment": dict(os.environ),
    }


@contextlib.contextmanager
def watched() -> Iterator[list[str]]:
    """The names of what is called to change a setting; another thread looks at the settings all the time."""
    called: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        for module, name in SETTERS:
            before = getattr(module, name)

            def noted(
                *args: object, _before: Callable[..., object] = before, _name: str = name, **kwargs: object
            ) -> object:
                called.append(_name)
                return _before(*args, **kwargs)

            patch.setattr(module, name, noted)
        expected = settings()
        over = threading.Event()

        def look() -> None:
            while not over.is_set():
                now = settings()
                called.extend(name for name in expected if now[name] != expected[name])
                time.sleep(0.0005)

        thread = threading.Thread(target=look)
        thread.start()
        try:
            yield called
        finally:
            over.set()
            thread.join()


def compiled(text: str) -> types.CodeType:
    """The code of the function in ``text``."""
    module = compile(text, "<settings>", "exec", dont_inherit=True)
    return next(const for const in module.co_consts if isinstance(const, types.CodeType))


def test_a_decompilation() -> None:
    code = compiled(BIG)
    with watched() as called:
        assert decompile_code(code).source == BIG
    assert not called


@pytest.mark.parametrize("action", ["error", "always"])
def test_what_the_compiler_warns_of(action: Any) -> None:
    """The text is compiled again, and the warnings of the program are not issued again."""
    text = "def f(a):\n    assert (a, 1)\n    return a is 1, 'a' is a, ()(), 1[2], ~True\n"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        code = compiled(text)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter(action)
        with watched() as called:
            assert decompile_code(code).proven
    assert not called and not heard


def test_the_plain_translation_and_the_passes() -> None:
    unit = CodeUnit.from_code(compile(TEXT, "<settings>", "exec", dont_inherit=True))
    with watched() as called:
        assert decompile_unit(unit, Options(idioms=False)).proven
        assert len(list(trace_passes(unit))) > 5
    assert not called


def test_no_cycles_are_left() -> None:
    unit = CodeUnit.from_code(compile(TEXT, "<collecting>", "exec", dont_inherit=True))
    decompile_unit(unit)
    for _ in range(9):  # what other tests left may be held by what is collected first
        if not gc.collect():
            break
    enabled = gc.isenabled()
    gc.disable()
    try:
        found = decompile_unit(unit)
        assert found.proven
        assert gc.collect() < 20
    finally:
        if enabled:
            gc.enable()
