"""Functions under random names (``tools/fuzz/mutantnames.py``): what is proven does what the original does, on every interpreter found."""

from __future__ import annotations

from collections import Counter

import pytest

from depyf.decompiler.bytecode.codeunit import units
from depyf.decompiler.bytecode.files.unmarshal import loads
from depyf.decompiler.bytecode.lower import Lowered, lower
from depyf.decompiler.bytecode.variables.told_apart import told_apart
from needs import HOST, need
from tools.env import interpreters
from tools.fuzz import mutantnames

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


@pytest.mark.parametrize("version", interpreters.VERSIONS)
def test_other_names_are_no_other_code(version: str) -> None:
    """What is lowered once and gets other names then is what lowering the code under these names gives."""
    need(version)
    python = mutantnames.Interpreter(version)
    compared = 0
    try:
        for seed in range(SEEDS):
            known: dict[int, Lowered] = {}
            root = told_apart(loads(bytes.fromhex(python.ask(seed=seed)), python.version), known)
            for unit in units(root):
                if id(unit) in known and unit.given is not None:
                    assert lower(unit) == known[id(unit)], f"seed {seed}"
                    compared += 1
    finally:
        python.close()
    assert compared > 10 * SEEDS


def test_a_wrong_text_is_noticed() -> None:
    """The comparison tells: a text that takes one variable for another does something else."""
    python = mutantnames.Interpreter(HOST)
    try:
        code = python.ask(seed=0)
        found = mutantnames.decompile_unit(mutantnames.loads(bytes.fromhex(code), python.version)).source
        assert python.ask(code=code, text=found + "\ndef unpack(pairs):\n    return pairs\n")
    finally:
        python.close()
