"""Random source programs (``tools/fuzz/randomsource.py``): all of them proven, on every interpreter found."""

from __future__ import annotations

import pytest

from depyf.decompiler.driver.pipeline import decompile_unit
from needs import need
from tools.env import interpreters
from tools.fuzz import randomsource, sourcefuzz

SEEDS = 30


@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.parametrize("version", interpreters.VERSIONS)
def test_proven(version: str, seed: int) -> None:
    need(version)
    major, minor = map(int, version.split("."))
    unit = sourcefuzz.compiled(randomsource.make(seed, (major, minor), 2), (major, minor), 0)
    assert unit is not None, "the program does not compile"
    unproven = [f"{v.qualname}: {v.reason}" for v in decompile_unit(unit).verdicts if not v.proven]
    assert unproven == []


def test_deterministic() -> None:
    assert randomsource.make(7, (3, 13)) == randomsource.make(7, (3, 13))
