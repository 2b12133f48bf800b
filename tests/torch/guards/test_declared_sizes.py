"""Sizes that ``torch.compile(dynamic_shapes=...)`` declares: what is said of them, and of a call outside of that."""

from __future__ import annotations

import inspect

import pytest
import torch

import depyf
from depyf.actions.asking.why import why

pytestmark = [
    pytest.mark.torch,
    pytest.mark.skipif(
        "dynamic_shapes" not in inspect.signature(torch.compile).parameters, reason="this torch declares no sizes"
    ),
]


def double(x):
    return x * 2


def declared(**bounds):
    from torch.fx.experimental.dynamic_spec import ParamsSpec, ShapeVar, TensorSpec

    spec = ParamsSpec({"x": TensorSpec([ShapeVar("batch", **bounds), None])})
    torch._dynamo.reset()
    return torch.compile(double, backend="eager", dynamic_shapes=spec)


def recorded(folder, double_c, *sizes):
    with depyf.prepare_debug(folder):
        for size in sizes:
            try:
                double_c(torch.ones(*size))
            except AssertionError:
                pass
    return (folder / "index.md").read_text()


@pytest.mark.parametrize("sizes", [((4, 2), (32, 2)), ((32, 2),)])
def test_a_call_outside_of_the_bound(tmp_path, sizes):
    page = recorded(tmp_path, declared(min=2, max=16), *sizes)
    now = "x.size(0) is 32: " if len(sizes) > 1 else ""
    assert f"{now}this call is outside of what dynamic_shapes= declares, 2 <= x.size(0) <= 16" in page
    assert "declare the range that the calls need" in page
    assert "torch.compiler.disable" not in page and "an error inside of torch" not in page


def test_another_size_that_changes(tmp_path):
    page = recorded(tmp_path, declared(), (4, 2), (4, 3), (4, 4))
    assert "declare dimension 1 of x in dynamic_shapes=" in page
    assert "mark_dynamic" not in page and "torch.compile(dynamic=True)" not in page


def test_why_says_that_it_raises():
    double_c = declared(min=2, max=16)
    double_c(torch.ones(4, 2))
    answer = why(double_c, (torch.ones(32, 2),), {})
    assert answer.outcome == "the call raises AssertionError: a size is outside of what dynamic_shapes= declares"
    assert "declare the range" in str(answer) and "one entry for calls that meet it" not in str(answer)
    with pytest.raises(AssertionError):
        double_c(torch.ones(32, 2))
    assert why(double_c, (torch.ones(8, 2),), {}).runs == "0/0"


def test_why_of_a_size_that_is_not_declared():
    double_c = declared(min=2, max=16)
    double_c(torch.ones(4, 2))
    answer = why(double_c, (torch.ones(4, 3),), {})
    assert answer.outcome == "no cache entry fits: torch compiles another one"
    assert "ShapeVar" in str(answer) and "mark_dynamic" not in str(answer)


@pytest.mark.parametrize(("bounds", "allowed"), [({}, "0 or more"), ({"min": 2, "max": 16}, "2 to 16")])
def test_sizes_by_their_inputs(tmp_path, bounds, allowed):
    recorded(tmp_path, declared(**bounds), (4, 2), (8, 2))
    page = (tmp_path / "shapes.md").read_text()
    (row,) = [line for line in page.splitlines() if line.startswith("| `")]
    assert row.startswith(f"| `x` | 0 | u0 | {allowed} |") and "test_declared_sizes.py" not in row
