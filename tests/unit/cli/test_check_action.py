"""The composite action of GitHub: the script in it, run by bash on a dump."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from made_dumps import compilation, function, run_dump

ROOT = Path(__file__).parents[3]
ACTION = ROOT / ".github" / "actions" / "check" / "action.yml"
pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")


def run_action(folder, **inputs):
    """The command ``depyf`` is that of this checkout."""
    text = ACTION.read_text()
    script = textwrap.dedent(text.partition("run: |\n")[2])
    given = dict(re.findall(r"^        (\w+): \$\{\{ inputs\.(\w+) \}\}$", text, re.M))
    defaults = dict(re.findall(r"^  (\w+):\n    description: .*\n    default: (.*)$", text, re.M))
    values = {name: inputs.get(of, defaults.get(of, "").strip('"')) for name, of in given.items()}
    command = folder / "bin" / "depyf"
    command.parent.mkdir(exist_ok=True)
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m depyf "$@"\n')
    command.chmod(0o755)
    environment = {
        **os.environ,
        **values,
        "PATH": f"{command.parent}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT / "src"),
    }
    return subprocess.run(
        ["bash", "-e", "-c", script], cwd=folder, env=environment, capture_output=True, text=True, timeout=300
    )


def test_the_action(tmp_path):
    run_dump(tmp_path / "a dump", function("0", "f", 3, compilation("0/0")))
    (tmp_path / "own.toml").write_text("[budget]\ncompilations = 0\n")
    run = run_action(tmp_path, program="a dump", budget="own.toml", sarif="found.sarif")
    assert run.returncode == 1, run.stderr
    assert run.stdout.startswith("::error file=a.py,line=3,")
    assert len(json.loads((tmp_path / "found.sarif").read_text())["runs"][0]["results"]) == 1
    (tmp_path / "own.toml").write_text("[budget]\ncompilations = 1\n")
    assert run_action(tmp_path, program="a dump", budget="own.toml").returncode == 0
    assert run_action(tmp_path, program="no dump", budget="own.toml").returncode == 4
