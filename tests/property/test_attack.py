"""A share of ``make attack``: what the proof accepts of changed texts and bytecode does what the original does."""

from __future__ import annotations

import pytest

from needs import HOST, need
from tools.proof.attack import bytecodes, texts
from tools.proof.attack.execution import Executor

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


def test_the_line_of_a_class_is_no_difference() -> None:
    """Since 3.13 a class notes its line, and a metaclass gets it; two texts need not begin at the same one."""
    need("3.13")
    text = "def f(base):\n    class C(base):\n        x = 1\n    return C\n"
    executor = Executor("3.13")
    try:
        assert executor.differences({"text": text}, {"text": "\n\n" + text}, range(4)) == []
        assert executor.differences({"text": text}, {"text": text.replace("1", "2")}, range(4)) != []
    finally:
        executor.close()
