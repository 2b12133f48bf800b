"""Lists that hold themselves are compared without end, or not at all, unless the proof knows that it is comparing them."""

from __future__ import annotations

import pytest

from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.verify import verify
from depyf.decompiler.verify.recompiling.recompile import recompile

ONE = "def f(h):\n    a = []\n    a.append(a)\n    a.append(h)\n    return g(a)\n"
EACH_OTHER = "def f(h):\n    a = []\n    b = [a]\n    a.append(b)\n    a.append(h)\n    return g(a)\n"
OTHERS = [
    ONE.replace("append(a)", "append([a])"),
    ONE.replace("append(h)", "append([h])"),
    ONE.replace("a.append(h)\n", "a.append(h); a.append(h)\n"),
]


def statuses(original: str, text: str) -> set[bool]:
    unit = CodeUnit.from_code(compile(original, "f.py", "exec", 0, True))
    return {verdict.proven for verdict in verify(unit, recompile(text, unit.version).unit)}


@pytest.mark.parametrize("source", [ONE, EACH_OTHER])
def test_the_same_is_the_same(source: str) -> None:
    assert statuses(source, source.replace("return g(a)", "__temp_0 = g\n    return __temp_0(a)")) == {True}


@pytest.mark.parametrize("text", OTHERS)
def test_others_are_not(text: str) -> None:
    assert False in statuses(ONE, text)


def test_different_code_is_found_different() -> None:
    """On the way to what differs the lists are compared again and again."""
    head = "def f(self):\n    a = []\n    a.append(a)\n    a.append(h)\n    h = h.set(A, b)\n    del h, a, b\n"
    end = "    gc()\n    self(ref())\n"
    assert False in statuses(head + end, head + "    if x_:\n        if self: pass\n" + end)
