"""A share of ``make attack``: what the proof accepts of changed texts and bytecode does what the original does."""

from __future__ import annotations

import pytest

from attack import bytecodes, texts
from needs import HOST, need

VERSIONS = sorted({"3.9", HOST, "3.13"})


@pytest.fixture(scope="module")
def pool() -> list[texts.Named]:
    return texts.subjects(None)


@pytest.mark.parametrize("version", VERSIONS)
def test_texts(version: str, pool: list[texts.Named]) -> None:
    need(version)
    found = texts.attack(version, 250, seed=1, pool=pool)
    assert found.mutants == 250
    assert found.rejected > 100
    assert found.accepted > 20
    assert not found.unexplained
    assert not found.reordered


@pytest.mark.parametrize("version", VERSIONS)
def test_bytecode(version: str, pool: list[texts.Named]) -> None:
    need(version)
    found = bytecodes.attack(version, 250, seed=1, pool=pool)
    assert found.mutants == 250
    assert found.rejected > 150
    assert not found.unexplained
    assert not found.reordered
