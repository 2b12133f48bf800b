"""The work of a decompilation grows with the code and no faster: counted in calls, which no other load changes."""

import sys

import pytest

from depyf.bytecode.codeunit import CodeUnit
from depyf.bytecode.lower import lower
from depyf.pipeline import decompile_unit


def one(text):
    return lambda count: "def big(a, b, c, d, f, g, E):\n" + "".join(text.format(i=i) for i in range(count))


def inside(head, text, tail=""):
    return lambda count: f"def big(a, b, c, d, f, g, E):\n  {head}:\n" + text * count + tail


SHAPES = {
    "statements": one("    a.x{i} = b[{i}] + f(c, {i})\n"),
    "tests": one("    if a > {i}:\n        b = f({i})\n    else:\n        c = b\n"),
    "returns": one("    if a == {i}:\n        return f({i})\n"),
    "raises": one("    if a == {i}:\n        raise E({i})\n"),
    "loops": one("    for x in b:\n        if x:\n            continue\n        f(x, {i})\n    else:\n        g()\n"),
    "try": one("    try:\n        a = f({i})\n    except E as e:\n        b = g(e)\n    finally:\n        c = {i}\n"),
    "with": one("    with a({i}) as b:\n        for x in b:\n            if x:\n                return x\n"),
    "match": one("    match a:\n        case {i}:\n            b = 1\n        case [x, y] if x:\n            c = y\n"),
    "functions": one("    def h{i}(x, *, y=a):\n        return x + y\n    b = [x for x in h{i}]\n"),
    "elif": one("    if a == {i}:\n        b = f({i})\n    el"),
    "continue": inside("for x in a", "    if b:\n        continue\n    c = g()\n"),
    "return in finally": inside("try", "    if b:\n        return f()\n", "  finally:\n    a.close()\n"),
    "classes": lambda count: "".join(f"class C{i}(B):\n    x: int = {i}\n    def m(self):\n        return super().m()\n" for i in range(count)),
}  # fmt: skip


def calls(work):
    """How many calls ``work`` makes, of functions in C, too."""
    counted = 0

    def count(frame, event, arg):
        nonlocal counted
        counted += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return counted


def instructions(unit):
    return len(lower(unit).instrs) + sum(instructions(const) for const in unit.consts if isinstance(const, CodeUnit))


@pytest.mark.parametrize("shape", SHAPES)
def test_linear(shape):
    per_instruction = []
    decompile_unit(CodeUnit.from_code(compile(SHAPES["try"](1), "<linear>", "exec", dont_inherit=True)))
    for count in (20, 80):
        text = SHAPES[shape](count)
        text = text.removesuffix("    el") + ("\n" if shape == "elif" else "")
        text = text.replace("    el    if", "    elif")
        unit = CodeUnit.from_code(compile(text, "<linear>", "exec", dont_inherit=True))
        per_instruction.append(calls(lambda unit=unit: decompile_unit(unit)) / instructions(unit))
    assert per_instruction[1] < 1.1 * per_instruction[0]
