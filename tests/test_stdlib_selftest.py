"""The standard library's own tests pass on its decompiled text: a few modules here, all with ``-m slow``."""

from __future__ import annotations

import sys

import pytest

from tools.corpus import stdlib_selftest
from tools.env import testsuites

QUICK = {"bisect", "graphlib", "heapq", "json", "shlex", "textwrap"}


def modules() -> list[object]:
    return [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in stdlib_selftest.MODULES]


@pytest.mark.parametrize("module", modules())
def test_module(module: str) -> None:
    if not testsuites.present(stdlib_selftest.STDLIB):
        pytest.skip(f"Lib/test is not installed beside {sys.executable} (Debian: libpython3.x-testsuite)")
    row, differences = stdlib_selftest.check(module, limit=300)
    assert differences == []
    assert int(row[3]) > 5, "the test module must have run tests"


def test_there_are_enough() -> None:
    assert len(stdlib_selftest.MODULES) >= 20
