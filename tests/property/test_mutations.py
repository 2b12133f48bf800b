"""The verifier rejects edits that change the meaning; ``python -m tools.proof.mutate --count 2000`` is the sweep."""

from __future__ import annotations

import pytest

from tools.proof import mutate


@pytest.mark.parametrize("seed", range(4))
def test_rejected(seed: int) -> None:
    tried, accepted = mutate.run(50, seed)
    assert sum(tried.values()) == 50
    assert accepted == []
