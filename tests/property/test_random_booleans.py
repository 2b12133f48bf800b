"""Nested ``and``, ``or``, ``not``, comparisons and conditional expressions (``tools/fuzz/randombooleans.py``): readable and proven."""

from __future__ import annotations

import pytest

from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.driver.pipeline import Decompiled, decompile_unit
from needs import need
from tools.corpus import invented
from tools.env import interpreters
from tools.fuzz import deepbooleans, randombooleans, sourcefuzz

SEEDS = 25
FOUND = (
    # the arms of a conditional expression, whose tests the compiler joins with the one of its value on the same line
    "with (j(e) or (j if f else e is None)) or ((f and d if c and c else d < b and g and (g := a.x)) or n): n",
    "x = lambda: (j < g and e < d <= e) and (n or f(h) or j if b or e else e(h) or h or b is None) and n",
    "for z in (g is None and (n or g(i) or h)) and (h and j < j if e(f) or f else g and f < g <= f) or e: n",
    # not a group under a ``not``: its value is used
    "raise E((not b or (((f < f <= b) or i))) and g, a)",
    "q = (d and (not (j and h(j))) and ((((a and h) and e)) and c)) or b",
    # operands that are alike are no copies
    "if b if a else n and b if n else a: n",
    "q = n or (j if (d if a else d) else n)",
    "x = [z for z in zs if (n and h if n else f or h)]",
    "while (n and a) if n else (a or b if c else n and a): x()",
    "return x() if d or b < f <= a else y()",
)


FAR = (
    "for z in (((((a := h.x)) and e) and (a and ((c := f.x)) and (h < h <= a)) and ((e < c <= i) and e and e)) "
    "and (((i(e)) or (f is None)) and f) and (((a < c <= e) and h) and (h and c) and (not h))) or (((not a) "
    "and (not h) and (a and ((e := f.x)))) or ((e or (a < i) or c) or ((h < h) or h or e)) or (((c is None) or "
    "f or c) and (h and (h < a <= e) and e))):\n        x(z)"
)
"""On 3.8 and 3.9 the optimiser left the code of such a line alone: the text has to stay on one line."""


def compiled(source: str, version: str) -> CodeUnit:
    need(version)
    unit = sourcefuzz.compiled(source, interpreters.number(version), 0)
    if unit is None:
        pytest.skip("the random program is none of this version")
    return unit


def unreadable(result: Decompiled) -> bool:
    """Whether the text shows a name of ours, or that of plain lifting."""
    return bool(result.fallbacks or invented.invented(result.source))


def proven(unit: CodeUnit) -> Decompiled:
    result = decompile_unit(unit)
    assert [f"{v.qualname}: {v.reason}" for v in result.verdicts if not v.proven] == []
    return result


@pytest.mark.parametrize("statement", FOUND)
@pytest.mark.parametrize("version", interpreters.VERSIONS)
def test_found(version: str, statement: str) -> None:
    result = proven(compiled(f"def fn(a, b, c, d):\n    {statement}\n", version))
    assert not unreadable(result), result.source


@pytest.mark.parametrize("version", interpreters.VERSIONS)
def test_far_jumps(version: str) -> None:
    result = proven(compiled(f"def fn(a, b, c, d):\n    {FAR}\n", version))
    assert not unreadable(result), result.source


@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.parametrize("version", interpreters.VERSIONS)
def test_deep(version: str, seed: int) -> None:
    result = proven(compiled(deepbooleans.make(1_000_000 + seed, interpreters.number(version), 4), version))
    assert not unreadable(result), result.source


@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.parametrize("version", interpreters.VERSIONS)
def test_readable(version: str, seed: int) -> None:
    result = proven(compiled(randombooleans.make(seed, interpreters.number(version), 2), version))
    assert not unreadable(result), result.source
