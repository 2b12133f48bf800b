"""Names read from a file are those that the compiler gives."""

from __future__ import annotations

import argparse
import collections
import contextlib
import dataclasses
import functools
import inspect
import sys
import typing
import unittest.mock
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from depyf.decompiler.bytecode.codeunit import codes
from depyf.decompiler.bytecode.host.written_names import own_name, qualified_name, written_name

EDGES = """\
import functools
def made(n=lambda: 1, *, k=[i for i in range(3)]):
    global shown
    @functools.wraps(
        made)
    @functools.cache
    def inner(x: int = (lambda: 2)()) -> int:
        return [lambda: y for y in (z for z in x) if (lambda: y)]
    def shown():
        def within(): pass
        return within
    if n:
        try: pass
        except ValueError:
            global late
        class late:
            def method(self): pass
    return inner
class Outer(made(lambda c: c)):
    global method
    def method(self): pass
    async def __private(self): return {k: (yield_, {s for s in k}) for k, yield_ in self}
    class Inner:
        def f(self): return lambda: (lambda: 0)
        g = lambda self: 1
"""


@pytest.mark.skipif(sys.version_info < (3, 11), reason="code objects have no qualified names")
@pytest.mark.skipif(sys.version_info >= (3, 12), reason="type parameters and annotations have code that 3.10 has not")
def test_names_are_those_of_the_compiler(tmp_path: Path) -> None:
    (tmp_path / "edges.py").write_text(EDGES)
    modules = argparse, collections, contextlib, dataclasses, functools, inspect, typing, unittest.mock
    for path in (tmp_path / "edges.py", *(Path(str(module.__file__)) for module in modules)):
        whole = compile(path.read_text(encoding="utf-8"), str(path), "exec", dont_inherit=True)
        wanted: dict[tuple[int, str], set[str]] = {}
        for code in codes(whole):
            wanted.setdefault((code.co_firstlineno, code.co_name), set()).add(code.co_qualname)
        for (line, name), qualnames in wanted.items():
            expected = qualnames if len(qualnames) == 1 else {name}  # of two in a line nothing tells which it is
            assert {written_name(str(path), line, name)} == expected


def test_a_few_by_hand(tmp_path: Path) -> None:
    path = tmp_path / "edges.py"
    path.write_text(EDGES)
    assert written_name(str(path), 4, "inner") == "made.<locals>.inner"
    assert written_name(str(path), 9, "shown") == "shown"
    assert written_name(str(path), 10, "within") == "shown.<locals>.within"
    assert written_name(str(path), 17, "method") == "late.method"
    assert written_name(str(path), 21, "method") == "method"
    assert written_name(str(path), 24, "f") == "Outer.Inner.f"
    assert written_name(str(path), 24, "<lambda>") == "<lambda>"  # there are two
    assert written_name(str(path), 25, "<lambda>") == "Outer.Inner.<lambda>"


def test_what_cannot_be_read_keeps_its_name(tmp_path: Path) -> None:
    bad = tmp_path / "bad.py"
    bad.write_text("def f(:\n")
    deep = tmp_path / "deep.py"
    deep.write_text("(" * 5000 + "\ndef f(): pass\n")
    for path in (bad, deep, tmp_path / "none.py", tmp_path, "<string>", ""):
        assert written_name(str(path), 1, "f") == "f"
    assert written_name(__file__, 10_000, "f") == "f" and written_name(__file__, 0, "f") == "f"


def test_nothing_is_executed(tmp_path: Path) -> None:
    path = tmp_path / "loud.py"
    path.write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\nclass A:\n    def f(self): return '\\d'\n")
    assert written_name(str(path), 3, "f") == "A.f" and not (tmp_path / "ran").exists()


class Holder:
    def method(self) -> Iterator[int]:
        def inner() -> int:
            return 1

        yield inner()


def test_a_live_function() -> None:
    assert qualified_name(Holder.method.__code__) == "Holder.method"
    (inner,) = [code for code in codes(Holder.method.__code__) if code.co_name == "inner"]
    assert qualified_name(inner) == "Holder.method.<locals>.inner"


def test_the_rest_of_a_function_stands_beside_it(tmp_path: Path) -> None:
    """As torch names resume functions where code objects have qualified names."""
    path = tmp_path / "edges.py"
    path.write_text(EDGES)
    old: Any = SimpleNamespace(co_name="f", co_filename=str(path), co_firstlineno=24)  # code without a qualified name
    rest: Any = SimpleNamespace(co_name="torch_dynamo_resume_in_f_at_25", co_filename=str(path), co_firstlineno=25)
    assert qualified_name(old) == "Outer.Inner.f" and own_name(old) == ""
    assert qualified_name(rest, old) == "Outer.Inner.torch_dynamo_resume_in_f_at_25"
