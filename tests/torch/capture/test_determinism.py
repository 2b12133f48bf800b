"""The same run in two processes writes byte-identical trees."""

from __future__ import annotations

import pytest
from dumps import check_dump, followed, run_python

pytestmark = pytest.mark.torch

SCRIPT = """
import sys
import torch
import depyf.api as depyf
from torch_programs import PROGRAMS
backend, directory, *names = sys.argv[1:]

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.kind = "beta"
        self.first, self.second = torch.nn.Linear(6, 6), torch.nn.Linear(6, 3)

    def forward(self, x):
        h = torch.relu(self.first(x))
        print(end="")
        if self.kind in {"alpha", "beta", "gamma", "delta"} or self.kind in ("one", frozenset({"two"})):
            h = torch.nn.functional.dropout(h, 0.1)
        if h.sum() > 0:
            h = h * 2
        return torch.log_softmax(self.second(h), -1)

def train(backend):
    torch.manual_seed(0)
    run = torch.compile(Model(), backend=backend)
    for size in (4, 5):
        run(torch.randn(size, 6)).sum().backward()

with depyf.prepare_debug(directory, log_bytecode=True):
    for name in names:
        if name == "trained":
            train(backend)
        elif name == "gpt2":
            from torch_models import run_model
            run_model("gpt2", lambda model: torch.compile(model, backend=backend), train=True)
        else:
            PROGRAMS[name](lambda fn: torch.compile(fn, backend=backend))
"""


@pytest.mark.parametrize(
    ("backend", "names", "cache"),
    [
        (
            "aot_eager",
            (
                "toy_recompiled",
                "cells_across_break",
                "bound_method",
                "with_and_try",
                "break_in_loop",
                "gpt2",
                "trained",
            ),
            "none",
        ),
        pytest.param("inductor", ("toy_grad", "trained"), "warm", marks=pytest.mark.slow),
        pytest.param("inductor", ("toy_grad", "trained"), "cold", marks=pytest.mark.slow),
    ],
)
def test_two_processes(backend, names, cache, tmp_path):
    script = tmp_path / "program.py"
    script.write_text(SCRIPT)
    trees = []
    for turn, seed in (("one", "1"), ("two", "2")):
        # A cold and a warm run differ in what torch reports: both start without a cache, or with one that a run has filled.
        folder = tmp_path / ("cache" if cache == "warm" else f"cache_{turn}")
        env = {"PYTHONHASHSEED": seed, "TORCHINDUCTOR_CACHE_DIR": str(folder)}
        if cache == "warm" and turn == "one":
            assert run_python(str(script), backend, str(tmp_path / "cold"), *names, env=env, alone=True).returncode == 0
        done = run_python(str(script), backend, str(tmp_path / turn), *names, env=env, alone=True)
        if done.returncode and not followed():
            script.write_text(SCRIPT.replace("with depyf.prepare_debug(directory, log_bytecode=True):", "if True:"))
            plain = run_python(str(script), backend, str(tmp_path / turn), *names, env=env, alone=True)
            if plain.returncode:
                pytest.skip(f"without depyf, this torch does not compile it: {plain.stderr.strip().splitlines()[-1]}")
        assert done.returncode == 0, done.stderr
        check_dump(tmp_path / turn)
        trees.append(
            {path.name: path.read_text() for path in (tmp_path / turn).iterdir() if path.name != "timings.json"}
        )
    assert trees[0].keys() == trees[1].keys()
    for name, text in trees[0].items():
        assert text == trees[1][name], name
