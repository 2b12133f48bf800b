"""A process that ends without leaving the block: what it knew is in its dump, and `depyf index` tells it."""

import json
import os
import signal

import pytest
from commands import python

pytestmark = pytest.mark.torch

PROGRAM = """
import os, signal, sys
import torch
import depyf


def end():
    if sys.argv[1] == "exit":
        os._exit(3)
    os.kill(os.getpid(), signal.SIGKILL)


def backend(graph, inputs):
    made.append(graph)
    if len(made) == 4:
        end()
    return graph.forward


def step(x, factor):
    y = x * factor
    print("step", end="")
    return y + 1


made = []
step = torch.compile(step, backend=backend, dynamic=False)
with depyf.prepare_debug("d"):
    for factor in (2, 3, 4):
        step(torch.ones(4), factor)
"""


@pytest.mark.parametrize("how", ["exit", "kill"])
def test_everything_up_to_then_is_there(how, tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    done = python("program.py", how, cwd=tmp_path)
    assert done.returncode == (3 if how == "exit" else -signal.SIGKILL), done
    assert not (tmp_path / "d" / "manifest.json").exists()
    done = python("-m", "depyf", "index", "d", cwd=tmp_path)
    assert done.returncode == 0 and done.stdout.strip() == os.path.join("d", "index.md"), done
    index = (tmp_path / "d" / "index.md").read_text()
    assert "before the process ended" in index and "`factor` is a constant of the compiled code (2, 3, 4)" in index
    assert "print() writes while the program runs" in index and "0/2: being compiled when the process ended" in index
    page = json.loads((tmp_path / "d" / "manifest.json").read_text())
    entries = {entry["compile_id"]: entry for function in page["functions"] for entry in function["entries"]}
    assert [(why["expected"], why["actual"]) for why in entries["0/2"]["recompiled_because"]] == [
        ("3", "4"),
        ("2", "4"),
    ]
    assert entries["0/0"]["guards"] > 3 and entries["0/1"]["compiled"]
    assert "def step(x, factor):" in (tmp_path / "d" / "full_code_for_step_0.py").read_text()
    assert json.loads((tmp_path / "d" / "timings.json").read_text())["seconds"]["0_1"]
    done = python("-m", "depyf", "report", "d", cwd=tmp_path)
    assert done.returncode == 0 and (tmp_path / "d" / "report.html").exists(), done
