"""``depyf doctor --fix``: edits that are tried, kept only where they help and change nothing else, and written when asked."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

import with_torch

pytestmark = pytest.mark.torch

PROGRAM = '''\
"""Trains nothing."""

import torch


def scaled(x):
    n = x.abs().sum().item()  # a number
    return x / n


def told(x):
    """The setting that would help here is asked for by the program, which then prints something else."""
    torch._dynamo.graph_break()
    return x + 1


scaled_c = torch.compile(scaled, backend="eager")
told_c = torch.compile(told, backend="eager")
print(scaled_c(torch.ones(4)), told_c(torch.ones(2)))
print(open(__file__).read().count("graph_break"))
'''


def doctor(folder, *arguments):
    environment = {**os.environ, "PYTHONHASHSEED": "0"}
    return subprocess.run(
        [with_torch.command(environment), "-m", "depyf", "doctor", *arguments], cwd=folder, capture_output=True,
        text=True, timeout=900, env=environment,
    )  # fmt: skip


def test_a_patch_is_printed_and_written_when_asked(tmp_path):
    """Without the graph break the program would print something else: that edit is not kept."""
    script = tmp_path / "train.py"
    script.write_text(PROGRAM)
    run = doctor(tmp_path, "--fix", "train.py")
    assert run.returncode == 1, run.stderr
    assert script.read_text() == PROGRAM and sorted(tmp_path.iterdir()) == [script]
    assert run.stdout.startswith("--- train.py\n+++ train.py\n@@ -4,7 +4,7 @@\n"), run.stdout + run.stderr
    changed = [line for line in run.stdout.splitlines() if line[:1] in "+-" and line[:3] not in ("+++", "---")]
    assert changed == [
        "-    n = x.abs().sum().item()  # a number",
        "+    n = x.abs().sum().detach()  # a number",
    ]
    assert "kept: train.py:7: compute with the tensor instead of the number" in run.stderr
    assert "not kept: train.py:13: remove the call of torch._dynamo.graph_break()" in run.stderr
    assert "harmful: it prints something else" in run.stderr and "Nothing is written without --write." in run.stderr
    written = doctor(tmp_path, "--fix", "--write", "--format", "json", "--most", "1", "train.py")
    page = json.loads(written.stdout)["fix"]
    assert script.read_text() == PROGRAM.replace(".item()", ".detach()"), written.stderr
    assert page["written"] == [str(script)] and page["edits"][0]["kept"] and page["diff"] == run.stdout
    assert page["before"]["graph_breaks"] == 2 and page["after"]["graph_breaks"] == 1


def test_what_cannot_be_fixed(tmp_path):
    script = tmp_path / "x.py"
    script.write_text(
        "import random, time\nimport torch\n@torch.compile(backend='eager')\ndef f(x):\n    return x * x.sum().item()\nf(torch.ones(2))\nimport os\nprint(bytes(97 + b % 26 for b in os.urandom(20)).decode())\n"
    )
    run = doctor(tmp_path, "--fix", "x.py")
    assert "it prints something else" in run.stderr and "none is made" in run.stderr and run.stdout == ""
    for arguments in (["--fix", "--try", "x.py"], ["--write", "x.py"], ["--fix", "--format", "sarif", "x.py"]):
        assert (
            subprocess.run(
                [sys.executable, "-m", "depyf", "doctor", *arguments], cwd=tmp_path, capture_output=True
            ).returncode
            == 2
        )
