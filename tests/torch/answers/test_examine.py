"""``depyf.doctor.examine``: the report of the command as an object, at a prompt and in a notebook."""

from __future__ import annotations

import json
import os
import sys

import pytest

import depyf
import with_torch
from depyf.doctor import examine

pytestmark = pytest.mark.torch


@pytest.fixture(autouse=True)
def processes_that_have_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    """What runs the program is the command's matter: ``test_doctor`` has it start with nothing imported, too."""
    monkeypatch.setenv("PYTHONHASHSEED", os.environ.get("PYTHONHASHSEED", "0"))
    monkeypatch.setattr(sys, "executable", with_torch.command(os.environ))


PROGRAM = """
import sys
import torch
def step(x):
    y = x + 1
    print("<script>alert(1)</script>")
    return y * 2
fn = torch.compile(step, backend="eager")
for n in map(int, sys.argv[1:]):
    fn(torch.ones(n))
"""


def test_examine(tmp_path):
    script = tmp_path / "train.py"
    script.write_text(PROGRAM)
    report = examine(str(script), "2", "3")
    assert "Fix first:" in str(report) and "print() writes while the program runs" in str(report)
    assert repr(report).startswith(f"<depyf doctor of {script}: ended after ") and "\n" not in repr(report)
    assert json.loads(json.dumps(report.to_json()))["causes"] and report.causes[0].place.line == 6
    page = report._repr_html_()
    assert "<script" not in page and "&lt;script&gt;" in page and "way out" in page
    assert page.count("<details") == page.count("</details>") and f"{script}:6" in page


def test_ways_out_are_tried(tmp_path):
    script = tmp_path / "train.py"
    script.write_text(PROGRAM)
    report = examine(str(script), "2", "3", "4", most=2)
    outcomes = {way.text.partition("(")[0]: way.outcome.value for way in report.tries.ways}
    assert outcomes["torch._dynamo.mark_dynamic"] == "helps", str(report)
    assert "Tried, each in a separate process" in str(report) and len(report.to_json()["tried"]) == len(
        report.tries.ways
    )
    assert report.to_json()["deterministic"] and "Tried, each in a separate process" in report._repr_html_()


def test_nothing_to_fix_and_no_such_script(tmp_path):
    script = tmp_path / "train.py"
    script.write_text("import torch\ntorch.compile(lambda x: x + 1, backend='eager')(torch.ones(2))")
    report = examine(str(script))
    assert report.causes == () and "Nothing to fix" in str(report) and "Nothing to fix" in report._repr_html_()
    with pytest.raises(depyf.DepyfError, match="there is no such script"):
        examine(str(tmp_path / "nowhere.py"))
