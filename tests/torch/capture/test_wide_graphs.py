"""Graphs with hundreds of inputs: Dynamo calls them with everything on the stack, Python's compiler collects a list."""

from __future__ import annotations

import pytest
import torch
from dumps import check_dump, check_substituted
from torch_programs import same

from depyf import prepare_debug
from depyf.gallery import render_dump

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


def test_functions_of_other_modules(tmp_path):
    """FX names them ``_operator_abs`` and ``math_sqrt``: the file imports them."""
    import operator
    import runpy

    def program(x):
        return torch.ops.aten.add(operator.abs(x), operator.index(x.shape[0]))

    with prepare_debug(tmp_path):
        torch.compile(program, backend="eager")(torch.ones(3))
    (graph,) = tmp_path.glob("*.Captured_Graph.*.py")
    assert "from _operator import abs as _operator_abs" in graph.read_text()
    runpy.run_path(str(graph), run_name="__main__")
    gallery = render_dump(tmp_path)
    assert not gallery.left_out
    assert "from _operator import abs as _operator_abs" in gallery.scripts[0].text
