"""Nested ``and``, ``or``, ``not``, comparisons and conditional expressions (``tools/randombooleans.py``): readable and proven."""

from __future__ import annotations

import pytest

import interpreters
import invented
import randombooleans
import sourcefuzz
from depyf.driver.pipeline import decompile_unit

SEEDS = 25
KNOWN: dict[str, set[int]] = {}
"""Seeds with a function that still shows a name of ours, by version."""


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
