"""Functions under random names (``tools/mutantnames.py``): what is proven does what the original does, on every interpreter found."""

from __future__ import annotations

from collections import Counter

import pytest

import interpreters
import mutantnames
from needs import HOST, need

SEEDS = 3


@pytest.mark.parametrize("version", interpreters.VERSIONS)
def test_proven_is_the_same(version: str) -> None:
    need(version)
    python = mutantnames.Interpreter(version)
    statuses: Counter[str] = Counter()
    try:
        for seed in range(SEEDS):
            outcome = mutantnames.examine(python, seed)
            assert outcome.wrong == {}, f"seed {seed}"
            statuses += outcome.statuses
    finally:
        python.close()
    proven = statuses["IDENTICAL"] + statuses["EQUIVALENT"]
    assert proven > 0.6 * statuses.total()
    assert statuses["FAILED"] < 0.1 * statuses.total()


def test_a_wrong_text_is_noticed() -> None:
    """The comparison tells: a text that takes one variable for another does something else."""
    python = mutantnames.Interpreter(HOST)
    try:
        code = python.ask(seed=0)
        found = mutantnames.decompile_unit(mutantnames.loads(bytes.fromhex(code), python.version)).source
        assert python.ask(code=code, text=found + "\ndef unpack(pairs):\n    return pairs\n")
    finally:
        python.close()
