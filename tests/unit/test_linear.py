"""The work of a decompilation grows with the code and no faster: counted in calls, which no other load changes."""

import pytest

from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.bytecode.lower import lower
from depyf.decompiler.driver.pipeline import decompile_unit
from work import calls


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
    "break": inside("while True", "    if f():\n        break\n"),
    "break and else": inside("for x in a", "    if x == b:\n        f()\n        break\n", "  else:\n    g()\n"),
    "return in finally": inside("try", "    if b:\n        return f()\n", "  finally:\n    a.close()\n"),
    "one list": lambda count: f"def big(a, b, f):\n    return [{', '.join(f'f({i}), b' for i in range(9 * count))}]\n",
    "stars": lambda count: f"def big(a, b, f):\n    return [{', '.join(f'*a, b({i})' for i in range(9 * count))}]\n",
    "one dict": lambda count: f"def big(a, b, f):\n    return {{{', '.join(f'b[{i}]: f({i})' for i in range(9 * count))}}}\n",
    "one test": lambda count: f"def big(a, f):\n    if {' or '.join(f'a == {i}' for i in range(9 * count))}:\n        f()\n",
    "one value": lambda count: f"def big(f):\n    return {' and '.join(f'f({i})' for i in range(9 * count))}\n",
    "one loop": lambda count: f"def big(a, f):\n    while {' < '.join(['f()', 'a'] * 9 * count)}:\n        f()\n",
    "one loop with or": lambda count: f"def big(a, f):\n    while {' or '.join(f'a < {i} < f' for i in range(9 * count))}:\n        f()\n",
    "captured": one("    def h{i}(x):\n        nonlocal c\n        c = a\n        return lambda: (x, h{i})\n"),
    "classes": lambda count: "".join(f"class C{i}(B):\n    x: int = {i}\n    def m(self):\n        return super().m()\n" for i in range(count)),
}  # fmt: skip


def instructions(unit):
    return len(lower(unit).instrs) + sum(instructions(const) for const in unit.consts if isinstance(const, CodeUnit))


@pytest.mark.parametrize("shape", SHAPES)
def test_linear(shape):
    few, many = per_instruction(shape, (20, 80))
    assert many < 1.1 * few


@pytest.mark.parametrize("shape", ["tests", "break"])
def test_long_bodies_are_not_searched_for_each_statement(shape):
    few, many = per_instruction(shape, (100, 1000))  # in this thread: larger code gets one of its own
    assert many < 1.1 * few


def per_instruction(shape, counts):
    found = []
    decompile_unit(CodeUnit.from_code(compile(SHAPES["try"](1), "<linear>", "exec", dont_inherit=True)))
    for count in counts:
        text = SHAPES[shape](count)
        text = text.removesuffix("    el") + ("\n" if shape == "elif" else "")
        text = text.replace("    el    if", "    elif")
        unit = CodeUnit.from_code(compile(text, "<linear>", "exec", dont_inherit=True))
        found.append(calls(lambda unit=unit: decompile_unit(unit)) / instructions(unit))
    return found


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("def big(b, f):\n    return [{items}]\n", "f({i}), b"),
        ("def big(b, f):\n    return {{{items}}}\n", "b[{i}]: f({i})"),
    ],
)
def test_displays_are_not_copied(text, steps, monkeypatch):
    """What calls do not show: the elements that were there before are not copied for each that is added."""
    from depyf.decompiler.ir.grown import grown
    from depyf.decompiler.lift.rules import container_rules, unpacking

    copied = []

    def counted(before, added):
        found = grown(before, added)
        if isinstance(found, tuple):
            copied.append(len(found))
        return found

    monkeypatch.setattr(container_rules, "grown", counted)
    monkeypatch.setattr(unpacking, "grown", counted)
    source = text.format(items=", ".join(steps.format(i=i) for i in range(2000)))
    result = decompile_unit(CodeUnit.from_code(compile(source, "<linear>", "exec", dont_inherit=True)))
    assert result.proven
    assert copied and max(copied) < 200 and sum(copied) < 20_000
