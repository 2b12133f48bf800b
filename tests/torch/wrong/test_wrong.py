"""``depyf.compare`` on programs that are wrong once compiled: each names the layer, and the line or the value."""

from __future__ import annotations

import pytest
import torch
from tests.torch.wrong.more_programs import MORE_TRAPS
from tests.torch.wrong.programs import TRAPS

import depyf

pytestmark = pytest.mark.torch


@pytest.mark.parametrize("trap", (*TRAPS, *MORE_TRAPS), ids=lambda trap: trap.__name__)
def test_trap(trap):
    torch._dynamo.reset()
    asked = trap()
    with asked.within:
        result = depyf.compare(asked.fn, *asked.args, backends=asked.backends)
    if result and asked.public:
        pytest.skip(f"torch {torch.__version__} does it right: {asked.public}")
    assert not result, result
    told = str(result)
    assert asked.layer in told, told
    for text in asked.named:
        assert text in told, told
