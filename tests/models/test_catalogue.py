"""One model per family of control flow, with depyf and without: bit-equal, every frame proven and substituted.

All of them in one sweep (``python -m tools.torch.models --families``), in a process of its own that forks for each; one test per model.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tools.torch.models.catalogue import AOT, BY_NAME, FAMILIES, ROWS

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.torch


@pytest.fixture(scope="module")
def swept(tmp_path_factory):
    """Model -> its line of the results."""
    results = tmp_path_factory.mktemp("models") / "results.jsonl"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    done = subprocess.run(
        [sys.executable, "-m", "tools.torch.models", "--families", "--results", str(results)],
        env=environment, capture_output=True, text=True, timeout=3600, check=False,
    )  # fmt: skip
    assert results.exists(), done.stderr[-3000:]
    lines = [json.loads(line) for line in results.read_text().splitlines()]
    assert (done.returncode == 0) == all(line["status"] == "ok" for line in lines)
    return {line["model"]: line for line in lines}


@pytest.mark.parametrize("name", FAMILIES)
def test_family(name, swept):
    found = swept[name]
    if lacking := re.search(r"No module named '(timm|torchvision|PIL)", found["reason"]):
        pytest.skip(f"{lacking[1]} is not installed: make env says why")
    assert (found["status"], found["reason"]) == ("ok", "")
    assert found["frames"] >= 1
    assert found["verdicts"] and set(found["verdicts"]) <= {"IDENTICAL", "EQUIVALENT"}


def test_sizes():
    """The paper's 138 names, at least 60 since, each name once; at least 20 families."""
    suites = [row.suite for row in ROWS]
    assert [suites.count(suite) for suite in ("huggingface", "timm", "torchbench")] == [50, 61, 27]
    assert suites.count("recent") >= 60
    assert len(BY_NAME) == len(ROWS)
    assert len(FAMILIES) >= 20
    assert set(AOT) < set(FAMILIES)


def test_breaks_are_among_the_families(swept):
    """The families would prove little without graph breaks and recompilations in them."""
    assert sum(line["breaks"] for line in swept.values()) >= 1
    assert sum(line["recompiles"] for line in swept.values()) >= 1
    assert sum(line["frames"] for line in swept.values()) > len(FAMILIES)
