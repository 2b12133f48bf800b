"""The report's JavaScript by itself: each file of ``tests/js`` on Node's test runner."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import needs

ROOT = Path(__file__).resolve().parents[1]
FILES = sorted((ROOT / "tests" / "js").glob("*.test.js"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_on_node(path: Path) -> None:
    node = needs.need_program("node")
    done = subprocess.run([node, "--test", path], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
