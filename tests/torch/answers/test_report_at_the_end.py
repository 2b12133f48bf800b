"""The page of a report beside the dump: ``prepare_debug(report=True)`` and ``depyf run --report``."""

from __future__ import annotations

import builtins
import json
import os
import sys
from pathlib import Path

import pytest
import torch

import depyf
import with_torch

pytestmark = pytest.mark.torch
PROGRAM = """
import torch

@torch.compile(backend="eager")
def double(x):
    return x * 2

print(double(torch.ones(2)))
"""


def without(monkeypatch, missing):
    found = builtins.__import__

    def refuse(name, *rest, **more):
        if name.partition(".")[0] == missing:
            raise ImportError(f"No module named {missing!r}", name=missing)
        return found(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", refuse)


def test_the_page_is_there_when_the_block_is_left(tmp_path):
    with depyf.prepare_debug(tmp_path, report=True):
        torch.compile(torch.sin, backend="eager")(torch.ones(2))
    page = (tmp_path / "report.html").read_text()
    assert page.startswith("<!doctype html>") and page.rstrip().endswith("</html>")
    assert "report.html" not in [item["file"] for item in json.loads((tmp_path / "manifest.json").read_text())["files"]]


def test_without_the_keyword_there_is_none(tmp_path):
    with depyf.prepare_debug(tmp_path):
        torch.compile(torch.cos, backend="eager")(torch.ones(2))
    assert not (tmp_path / "report.html").exists()


def test_a_missing_library_is_said_before_anything_runs(tmp_path, monkeypatch):
    without(monkeypatch, "jinja2")
    with pytest.raises(depyf.DepyfError, match=r"pip install 'depyf\[report\]'"):
        depyf.prepare_debug(tmp_path, report=True)


def test_a_page_that_cannot_be_made_is_a_warning(tmp_path):
    with pytest.warns(RuntimeWarning, match="cannot be written"), depyf.prepare_debug(tmp_path, report=True):
        torch.compile(torch.tan, backend="eager")(torch.ones(2))
        (tmp_path / "report.html").mkdir()
    assert (tmp_path / "manifest.json").exists()


def test_run_writes_the_page_and_keeps_the_status(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM + "raise SystemExit(3)\n")
    environment = {**os.environ, "PYTHONPATH": str(Path(depyf.__file__).parents[1])}
    command = [sys.executable, "-m", "depyf", "run", "--report", "--out", str(tmp_path / "dump"), str(program)]
    run = with_torch.run(command, env=environment)
    assert run.returncode == 3, run.stderr
    assert run.stdout == "tensor([2., 2.])\n"
    assert f"The report: {tmp_path / 'dump' / 'report.html'}" in run.stderr
    assert (tmp_path / "dump" / "report.html").stat().st_size > 20_000
