"""Models of the catalogue as packages: each runs in a new process that cannot import depyf, and agrees with eager mode."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from depyf.api import prepare_debug
from depyf.export import export_package
from tools.torch.models.build import build, seed
from tools.torch.models.catalogue import BY_NAME

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.torch
MODELS = (
    "lstm_tagger", "dcgan", "pytorch_unet", "Background_Matting", "LearningToPaint", "nvidia_deeprecommender",
)  # fmt: skip
PROGRAM = "import sys, runpy; sys.path[:0] = ['', sys.argv[1]]; sys.modules['depyf'] = None; sys.argv[1:] = []; runpy.run_module('net', run_name='__main__', alter_sys=True)"


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in MODELS[:2] else pytest.mark.slow) for name in MODELS]
)
def test_as_in_eager_mode(name, tmp_path):
    built = build(BY_NAME[name])
    inputs = dict(built.inputs)
    positional = [inputs.pop(str(number)) for number in range(len(inputs)) if str(number) in inputs]
    torch._dynamo.reset()
    seed(0)
    with prepare_debug(tmp_path / "dump", record=True):
        torch.compile(built.module, backend="eager")(*positional, **inputs)
    package = export_package(tmp_path / "dump", tmp_path / "net")
    assert package.notes == []
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(ROOT)], cwd=tmp_path, capture_output=True, text=True, check=False,
        env={key: value for key, value in os.environ.items() if key != "PYTHONPATH"},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert ": 1 as in eager mode, 0 not" in done.stdout
