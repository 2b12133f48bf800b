"""``depyf open`` of what ``torch.compiler.precompile`` writes: nothing of it is executed or unpickled."""

from __future__ import annotations

import precompiled_artefacts
import pytest
import torch
from precompiled_artefacts import Net, broken, captured, chosen, of_frames, step

from depyf.actions.opened.open_file import cache_beside
from depyf.cli import main
from depyf.cli.exit_status import ExitStatus

pytestmark = pytest.mark.torch


def opened(path, out, *options):
    assert main(["open", str(path), "-o", str(out), *options]) == ExitStatus.PROVEN
    return (out / "index.md").read_text()


def test_one_graph(tmp_path):
    index = opened(captured(tmp_path, Net(), torch.ones(2, 3)), tmp_path / "out")
    assert "It is a precompile artefact of one graph, traced by make_fx" in index
    assert "- `input 0: sizes (2, 3), dtype torch.float32, device cpu`" in index
    assert "- `parameter linear.weight: sizes (3, 3), dtype torch.float32, device cpu`" in index
    assert "torch.ops.aten.relu" in (tmp_path / "out" / "graph_code.py").read_text()


def test_the_cache_of_one_graph_and_a_folder(tmp_path):
    path = captured(tmp_path, Net(), torch.ones(2, 3), backend="inductor")
    cache = path.with_suffix(".cache")
    assert cache_beside(path) == cache
    index = opened(tmp_path, tmp_path / "out")
    assert "2 saved files" in index
    assert "the cache of a precompile artefact" in index


def test_frames_with_what_is_left_out_and_what_is_served_alone(tmp_path):
    x = torch.ones(2, 3)
    calls = (Net(), x, 2), (Net(torch.sigmoid), x, 2), (Net(), torch.ones(5, 3), 2)
    path, summary = of_frames(tmp_path, step, *calls)
    index = opened(path, tmp_path / "out")
    assert "a precompile artefact of 1 frame, traced by Dynamo" in index
    assert f"{len(summary.dropped_guards)}, {len(summary.risky_dropped_guards)} of them risky" in index
    assert "model.inner" in index and "risky: the variants that were captured differ by it" in index
    assert "n" in summary.wont_generalize
    assert f"- `n == 2` at `{precompiled_artefacts.__file__}:" in index
    assert "raises: `step(model, x, n=3)`" in index
    assert (tmp_path / "out" / "frames.code.step.py").exists()


def test_no_value_that_another_variant_serves_is_said_to_raise(tmp_path):
    x = torch.ones(3)
    path, summary = of_frames(tmp_path, chosen, (x, True), (x, False), (x, True, "mean"))
    index = opened(path, tmp_path / "out")
    assert summary.wont_generalize == ("flag", "mode")
    assert "- `flag == True or flag == False`" in index and index.count("  - raises: ") == 1
    assert "- `mode == 'sum' or mode == 'mean'`" in index and "mode='sum_2')`" in index


def test_frames_of_a_graph_break(tmp_path):
    path, _ = of_frames(tmp_path, broken, (Net(), torch.ones(2, 3)))
    index = opened(path, tmp_path / "out")
    assert "of 2 frames" in index
    assert "torch_dynamo_resume_in_broken" in index


def test_load_makes_a_dump_of_it(tmp_path, capfd):
    path = captured(tmp_path, Net(), torch.ones(2, 3))
    opened(path, tmp_path / "out", "--load")
    told = capfd.readouterr()
    assert "--load executes one.py and one.cache, in a separate process" in told.err
    assert (tmp_path / "out" / "loaded" / "index.md").exists()
