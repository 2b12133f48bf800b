"""Graphs with hundreds of inputs: Dynamo calls them with everything on the stack, Python's compiler collects a list."""

from __future__ import annotations

import pytest
import torch
from dumps import check_dump, check_substituted
from torch_programs import same

from depyf import prepare_debug

pytestmark = pytest.mark.torch


class Wide(torch.nn.Module):
    def __init__(self, count: int) -> None:
        super().__init__()
        self.parts = torch.nn.ParameterList(torch.full((2,), float(number)) for number in range(count))

    def forward(self, x):
        for number, part in enumerate(self.parts):
            x = x * part if number % 2 else x + part
        return x


@pytest.mark.parametrize("count", [30, 270])
def test_wide_graph(count, tmp_path):
    want = Wide(count)(torch.ones(2))
    with prepare_debug(tmp_path):
        got = torch.compile(Wide(count), backend="eager")(torch.ones(2))
    assert same(want, got)
    check_substituted(check_dump(tmp_path))
