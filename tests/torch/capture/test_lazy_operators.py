"""Graphs that call what ``import torch`` alone does not give, and graphs inside graphs: pages and gallery scripts run."""

from __future__ import annotations

import re
import sys

import pytest
import torch

import with_torch
from depyf.api import prepare_debug
from depyf.cli import main
from depyf.run.graphs.graph_source import registering_modules

pytestmark = pytest.mark.torch


def run(*command):
    found = with_torch.run(command, imports=with_torch.ALONE)
    assert found.returncode == 0, found.stdout + found.stderr
    return found.stdout


def gallery(dump, out):
    assert main(["gallery", "-o", str(out), str(dump)]) == 0
    scripts = sorted(out.glob("graph_*.py"))
    assert scripts
    return [run(sys.executable, str(script)) for script in scripts]


def test_modules_that_register_operators():
    assert registering_modules("x = torch.ops.aten.add.Tensor(a, b)\n# torch.ops\n") == ()
    assert registering_modules("x = torch.ops.no_such_library.f(a); y = torch.ops.prims.no_such(a)") == ()
    inductor_prims = pytest.importorskip("torch._inductor.inductor_prims")
    if hasattr(inductor_prims, "fma"):
        text = "fma_default = torch.ops.prims.fma.default(mul, 0.5, mul_)"
        assert registering_modules(text) == ("torch._inductor.inductor_prims",)
    assert registering_modules("s = torch.ops.prims.inductor_seeds.default(2)") == ("torch._inductor.inductor_prims",)


def test_an_operator_that_torch_makes_with_custom_op():
    pytest.importorskip("torch.nn.modules.linear_cross_entropy")
    text = "y = torch.ops.torch_nn._linear_cross_entropy_batch_chunked.default(a, b)"
    assert registering_modules(text) == ("torch.nn.modules.linear_cross_entropy",)


def test_the_step_of_an_optimizer(tmp_path):
    torch._dynamo.reset()
    model = torch.nn.Linear(3, 2)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, amsgrad=True)
    step = torch.compile(optimizer.step, backend="aot_eager")
    with prepare_debug(tmp_path / "dump"):
        model(torch.ones(1, 3)).sum().backward()
        step()
    pages = [
        page
        for page in (tmp_path / "dump").glob("__compiled_fn_*.Forward_graph.*.py")
        if "__main__" in page.read_text()
    ]
    assert pages
    for page in pages:
        run(sys.executable, str(page))
    gallery(tmp_path / "dump", tmp_path / "scripts")


def test_a_region_that_is_compiled_once(tmp_path):
    region = getattr(torch.compiler, "nested_compile_region", None)
    if region is None:
        pytest.skip("this torch has no nested_compile_region")
    torch._dynamo.reset()

    @region
    def block(x, w):
        return torch.nn.functional.silu(x @ w) + x

    def model(x, ws):
        for w in ws:
            x = block(x, w)
        return x.sum()

    x = torch.randn(2, 4, requires_grad=True)
    with prepare_debug(tmp_path / "dump"):
        torch.compile(model, backend="aot_eager")(
            x, [torch.randn(4, 4, requires_grad=True) for _ in range(2)]
        ).backward()
    said = "\n".join(gallery(tmp_path / "dump", tmp_path / "scripts"))
    assert "MISMATCH" not in said and "gradient of" in said
    text = next((tmp_path / "dump").glob("*.Forward_graph.0.py")).read_text()
    inner = text.partition("class partitioned_fw")[2]
    shapes = re.findall(r'(primals_\d+): "(f32\[[\d, ]+\])', inner.partition("def forward(")[2].partition("):")[0])
    assert [shape for _, shape in shapes] == ["f32[2, 4]", "f32[4, 4]"], (
        "the types of the graph inside, not of the one around it"
    )


def test_repeats_that_add_up(tmp_path):
    torch._dynamo.reset()

    def function(x, counts, more):
        a = torch.repeat_interleave(x, counts, output_size=6).sin()
        return a.repeat_interleave(more.long(), dim=0, output_size=9)

    inputs = (
        torch.randn(3, requires_grad=True),
        torch.tensor([1, 2, 3]),
        torch.tensor([4, 0, 0, 1, 1, 3], dtype=torch.int32),
    )
    with prepare_debug(tmp_path / "dump"):
        torch.compile(function, backend="aot_eager")(*inputs).sum().backward()
    said = gallery(tmp_path / "dump", tmp_path / "scripts")
    assert "results agree" in said[0]
    text = next((tmp_path / "scripts").glob("graph_*.py")).read_text()
    assert "total=6)" in text and "total=9" in text
