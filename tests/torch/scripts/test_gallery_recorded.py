"""``depyf gallery`` on recorded inputs: the scripts run on what the program gave."""

from __future__ import annotations

import sys

import pytest
import torch

import depyf
import with_torch
from depyf.gallery import render_dump, write_gallery

pytestmark = pytest.mark.torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(40, 40)

    def forward(self, x, views):
        x = self.linear(x).relu()
        return x.sum() + (views[0].sum() * views[1].sum())


def record(folder):
    torch.manual_seed(0)
    memory = torch.arange(12.0)
    with depyf.prepare_debug(folder, record=True):
        torch.compile(Model(), backend="aot_eager")(
            torch.randn(3, 40), [memory[:6], memory[3:].view(3, 3).t()]
        ).backward()


def test_scripts_run_on_recorded_inputs(tmp_path):
    record(tmp_path / "dump")
    for _ in range(2):  # the same again over the first
        write_gallery(tmp_path / "dump", tmp_path / "out")
    (script,) = (tmp_path / "out").glob("*.py")
    text = script.read_text()
    assert script.with_suffix(".safetensors").exists()
    assert "memory_0 = " in text and "make = Make" not in text and "values are random" not in text
    done = with_torch.run([sys.executable, script], imports=with_torch.ALONE)
    assert done.returncode == 0, done.stdout + done.stderr
    write_gallery(tmp_path / "dump", tmp_path / "out", made_up=True)
    assert not list((tmp_path / "out").glob("*.safetensors"))
    assert "make.normal(3, 40" in script.read_text()


def test_what_was_left_out_is_made(tmp_path):
    with depyf.prepare_debug(tmp_path, record=100):
        torch.compile(lambda x, y: x.sum() + y, backend="eager")(torch.randn(100), torch.ones(3))
    (script,) = render_dump(tmp_path).scripts
    assert '"x": make.normal(100' in script.text and '"y": torch.tensor([1.0, 1.0, 1.0]),' in script.text
