"""The same run in two processes writes byte-identical trees."""

from __future__ import annotations

import pytest
from dumps import check_dump, run_python

pytestmark = pytest.mark.torch

SCRIPT = """
import sys
import torch
import depyf.api as depyf
from torch_programs import PROGRAMS
backend, directory, *names = sys.argv[1:]
with depyf.prepare_debug(directory, log_bytecode=True):
    for name in names:
        if name == "gpt2":
            from torch_models import run_model
            run_model("gpt2", lambda model: torch.compile(model, backend=backend), train=True)
        else:
            PROGRAMS[name](lambda fn: torch.compile(fn, backend=backend))
"""


@pytest.mark.parametrize(
    ("backend", "names"),
    [
        (
            "aot_eager",
            ("toy_recompiled", "cells_across_break", "bound_method", "with_and_try", "break_in_loop", "gpt2"),
        ),
        pytest.param("inductor", ("toy_grad",), marks=pytest.mark.slow),
    ],
)
def test_two_processes(backend, names, tmp_path):
    script = tmp_path / "program.py"
    script.write_text(SCRIPT)
    trees = []
    for turn, seed in (("one", "1"), ("two", "2")):
        # The same compile cache each time, filled by a first run: a cold and a warm run may differ in what torch reports.
        env = {"PYTHONHASHSEED": seed, "TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "cache")}
        if backend == "inductor" and turn == "one":
            assert run_python(str(script), backend, str(tmp_path / "cold"), *names, env=env).returncode == 0
        done = run_python(str(script), backend, str(tmp_path / turn), *names, env=env)
        assert done.returncode == 0, done.stderr
        check_dump(tmp_path / turn)
        trees.append(
            {path.name: path.read_text() for path in (tmp_path / turn).iterdir() if path.name != "timings.json"}
        )
    assert trees[0].keys() == trees[1].keys()
    for name, text in trees[0].items():
        assert text == trees[1][name], name
