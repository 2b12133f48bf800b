"""``f(**{x: y})`` makes a copy of the dict on both sides; only where the original makes none is the copy no operation."""

from __future__ import annotations

import pytest

from depyf.decompiler.verify import Status, verify
from depyf.decompiler.verify.recompiling.recompile import recompile
from needs import need
from tools.env.interpreters import VERSIONS

ORIGINAL = """
def f(self, x):
    for name in self:
        if x:
            pass
        else:
            raise
        f(**{name: None})
        f(**{name: x}, **x)
"""
SAME = """
def f(self, x):
    for name in self:
        if not x:
            raise
        f(**{name: None})
        __temp_0 = 1
        f(**{name: x}, **x)
"""


@pytest.mark.parametrize("version", VERSIONS)
def test_both_sides_make_the_copy(version: str) -> None:
    need(version)
    major, minor = map(int, version.split("."))
    original = recompile(ORIGINAL, (major, minor), ("f",)).unit
    assert verify(original, recompile(SAME, (major, minor), ("f",)).unit)[0].status is Status.EQUIVALENT
    for wrong in (SAME.replace("**{name: None}", "**{x: None}"), SAME.replace("{name: x}, **x", "{name: x}")):
        assert verify(original, recompile(wrong, (major, minor), ("f",)).unit)[0].status is Status.WRONG
