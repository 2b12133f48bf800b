"""Nested ``and``, ``or``, ``not``, comparisons and conditional expressions (``tools/randombooleans.py``): readable and proven."""

from __future__ import annotations

import pytest

import deepbooleans
import interpreters
import invented
import randombooleans
import sourcefuzz
from depyf.driver.pipeline import decompile_unit

SEEDS = 25
KNOWN: dict[str, set[int]] = {}
"""Seeds with a function that still shows a name of ours, by version."""


KNOWN_DEEP = {"3.8": {4}, "3.9": {4}}
"""As ``KNOWN``: jumps of more than 255 bytes, of which the compiler joins only some."""
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


def shown(source: str, version: str, known: bool = False) -> None:
    if interpreters.find(version) is None:
        pytest.skip(f"no Python {version} on this machine")
    major, minor = map(int, version.split("."))
    unit = sourcefuzz.compiled(source, (major, minor), 0)
    assert unit is not None, source
    result = decompile_unit(unit)
    assert [f"{v.qualname}: {v.reason}" for v in result.verdicts if not v.proven] == []
    assert bool(result.fallbacks or invented.invented(result.source)) == known, result.source


@pytest.mark.parametrize("statement", FOUND)
@pytest.mark.parametrize("version", interpreters.VERSIONS)
def test_found(version: str, statement: str) -> None:
    shown(f"def fn(a, b, c, d):\n    {statement}\n", version)


@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.parametrize("version", interpreters.VERSIONS)
def test_deep(version: str, seed: int) -> None:
    major, minor = map(int, version.split("."))
    shown(deepbooleans.make(1_000_000 + seed, (major, minor), 4), version, seed in KNOWN_DEEP.get(version, ()))


@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.parametrize("version", interpreters.VERSIONS)
def test_readable(version: str, seed: int) -> None:
    if interpreters.find(version) is None:
        pytest.skip(f"no Python {version} on this machine")
    major, minor = map(int, version.split("."))
    unit = sourcefuzz.compiled(randombooleans.make(seed, (major, minor), 2), (major, minor), 0)
    if unit is None:
        pytest.skip("the random program is none of this version")
    result = decompile_unit(unit)
    assert [f"{v.qualname}: {v.reason}" for v in result.verdicts if not v.proven] == []
    shown = bool(result.fallbacks or invented.invented(result.source))
    assert shown == (seed in KNOWN.get(version, set())), result.source
