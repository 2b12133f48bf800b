"""``depyf.debug(level=...)`` runs each compilation as the dumped files of the one it repeats, where several look alike."""

from __future__ import annotations

import json
import sys

import pytest
import torch
from dumps import fresh_cache, lacks

import depyf

pytestmark = pytest.mark.torch


def lines_run(directory, run):
    """The dumped files whose code ran, in the order they were entered, each once."""
    seen = []

    def trace(frame, event, argument):
        if frame.f_code.co_filename.startswith(str(directory)) and "full_code" not in frame.f_code.co_filename:
            seen.append(frame.f_code.co_filename.rpartition("/")[2])
        return

    torch._dynamo.eval_frame.skip_code(trace.__code__)
    before = sys.gettrace()
    sys.settrace(trace)
    try:
        run()
    finally:
        sys.settrace(before)
    return list(dict.fromkeys(seen))


@pytest.mark.parametrize("level, stage", [("graph", "Captured_Graph"), ("aot", "Forward_graph")])
def test_compilations_that_differ_in_sizes_only(level, stage, tmp_path, monkeypatch):
    """Their texts are the same but for the sizes: transformed code and graph are those of one compilation, and the right one."""
    monkeypatch.setenv("DEPYF_NO_PAUSE", "1")

    def scaled(x):
        return torch.sin(x) * 2

    fn = torch.compile(scaled, backend="aot_eager", dynamic=False)
    with depyf.prepare_debug(tmp_path / "d"):
        fn(torch.ones(3)), fn(torch.ones(5))
    with depyf.debug(level=level):
        files = lines_run(tmp_path / "d", lambda: (fn(torch.ones(5)), fn(torch.ones(3))))
    assert files == [
        "__transformed_code_0_1_for_scaled.py", f"__compiled_fn_0_1.{stage}.0.py",
        "__transformed_code_0_0_for_scaled.py", f"__compiled_fn_0_0.{stage}.0.py",
    ]  # fmt: skip


def test_other_sizes_are_another_file(tmp_path, monkeypatch):
    """A dumped graph that says other sizes is not shown for it; the new file has the sizes at its parameters, too."""
    monkeypatch.setenv("DEPYF_NO_PAUSE", "1")

    def scaled(x, w):
        return torch.sin(x * w)

    fn = torch.compile(scaled, backend="inductor", dynamic=False)
    w = torch.ones(3, requires_grad=True)
    with depyf.prepare_debug(tmp_path / "d"):
        fn(torch.ones(2, 3), w)
    with depyf.debug(level="aot"):
        fn(torch.ones(4, 3), w).sum().backward()
    forward = tmp_path / "d" / "__compiled_fn_0_1.Forward_graph.0.py"
    assert '"f32[4, 3][3, 1]cpu"' in forward.read_text().partition("def forward(")[2].partition("):")[0]
    backward = tmp_path / "d" / "__compiled_fn_0_1.Backward_graph.0.py"
    assert 'tangents_1: "f32[4, 3]' in backward.read_text()


def test_inference_of_inductor_at_level_aot_runs_what_aotautograd_made(tmp_path, monkeypatch):
    """Inductor's joint passes would drop the multiplication by one and the cast: the dumped graph has them, and it runs."""
    monkeypatch.setenv("DEPYF_NO_PAUSE", "1")

    def layer(x, w):
        return torch.sin(x @ w).to(torch.float32) * torch.ones(3) + torch.zeros(3)

    fn = torch.compile(layer, backend="inductor")
    x, w = torch.ones(2, 3), torch.eye(3)
    with fresh_cache(), depyf.prepare_debug(tmp_path / "d"):  # a cached graph has no stage after the joint passes
        first = fn(x, w)
    before = sorted(path.name for path in (tmp_path / "d").iterdir())
    manifest = json.loads((tmp_path / "d" / "manifest.json").read_text())
    passed = ""
    if not lacks(manifest, "joint passes"):  # torch before 2.10 reports no graph after them
        passed = (tmp_path / "d" / "__compiled_fn_0_0.AFTER_JOINT_GRAPH.0.py").read_text()
    dumped = (tmp_path / "d" / "__compiled_fn_0_0.Forward_graph.0.py").read_text()
    assert "aten.mul.Tensor(" in dumped and "aten.mul.Tensor(" not in passed
    passes = torch._inductor.compile_fx._recursive_joint_graph_passes
    with depyf.debug(level="aot"):
        files = lines_run(tmp_path / "d", lambda: torch.testing.assert_close(fn(x, w), first))
    assert files == ["__transformed_code_0_0_for_layer.py", "__compiled_fn_0_0.Forward_graph.0.py"]
    assert sorted(path.name for path in (tmp_path / "d").iterdir()) == before
    assert torch._inductor.compile_fx._recursive_joint_graph_passes is passes
