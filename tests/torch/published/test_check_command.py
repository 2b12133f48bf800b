"""``depyf check`` on programs: a budget that is written is kept, and a regression is caught at its line."""

from __future__ import annotations

import json
import os
import subprocess

import pytest

import with_torch

pytestmark = pytest.mark.torch

PROGRAM = """
import os, sys
import torch

def f(x):
    y = x * 2
    if os.environ.get("BROKEN"):
        print("broken")
    return y + 1

f_c = torch.compile(f, backend="eager")
f_c(torch.ones(3))
print("said", sys.argv[1:])
sys.exit(int(os.environ.get("STATUS", 0)))
"""


def check(folder, *arguments, **more):
    environment = {"PYTHONHASHSEED": "0", **os.environ, **more}
    return subprocess.run(
        [with_torch.command(environment), "-m", "depyf", "check", *arguments], cwd=folder, capture_output=True,
        text=True, timeout=500, env=environment,
    )  # fmt: skip


def test_a_budget_in_ci(tmp_path):
    (tmp_path / "train.py").write_text(PROGRAM)
    (tmp_path / "pyproject.toml").write_text(
        "[project]\nname = 'x'\n\n[tool.depyf.budget]\ngraph_breaks = 9\ncompilations = 0\n"
    )
    written = check(tmp_path, "--update", "train.py", "--x", "1")
    assert written.returncode == 0 and written.stdout.startswith("said ['--x', '1']\n"), written.stderr
    assert (tmp_path / "pyproject.toml").read_text().endswith("graph_breaks = 0\ncompilations = 1\n")
    kept = check(tmp_path, "train.py")
    assert kept.returncode == 0 and "within the budget: graph_breaks 0 of 0, compilations 1 of 1" in kept.stdout
    broken = check(tmp_path, "--out", "dump", "train.py", BROKEN="1")
    assert broken.returncode == 1, broken.stderr
    assert "train.py:8:9: error: print() writes" in broken.stdout and "way out: " in broken.stdout
    of_dump = check(tmp_path, "--format", "sarif", "dump")
    assert of_dump.returncode == 1
    result = json.loads(of_dump.stdout)["runs"][0]["results"][0]
    where = result["locations"][0]["physicalLocation"]
    assert result["ruleId"] == "breaks" and where["artifactLocation"]["uri"] == "train.py"
    assert where["region"]["startLine"] == 8


def test_a_program_that_fails_is_not_judged(tmp_path):
    (tmp_path / "train.py").write_text(PROGRAM)
    (tmp_path / "depyf.toml").write_text("[budget]\ngraph_breaks = 0\n")
    failed = check(tmp_path, "--format", "github", "train.py", STATUS="7")
    assert failed.returncode == 3 and failed.stdout == "" and "said []" in failed.stderr
    assert "is not judged: it ended with status 7" in failed.stderr


COUNTED = """
import os, types
import torch

class Counter:
    # as torch's own: each is opened, and tells what was counted when it is closed
    opened = 0
    def start(self):
        Counter.opened += 1
        return Counter.opened
    def end(self, number):
        return 1_000_000

if not os.environ.get("CLOSED"):
    torch._C._instruction_counter = Counter()

@torch.compile(backend="aot_eager")
def f(x):
    return x * 2

f(torch.ones(3, requires_grad=True)).sum().backward()
if os.environ.get("BROKEN"):
    f(torch.ones(3, 3))
"""


def test_instructions_are_a_measure_where_they_can_be_counted(tmp_path):
    """With a stand-in for torch's counter, which counts a million each time: for a function, and for its
    backward, which torch compiles when it runs.  A tenth more is no excess."""
    (tmp_path / "train.py").write_text(COUNTED)
    (tmp_path / "depyf.toml").write_text("[budget]\ninstructions = 0\n")
    written = check(tmp_path, "--update", "train.py")
    assert written.returncode == 0, written.stderr
    assert (tmp_path / "depyf.toml").read_text() == "[budget]\ninstructions = 2200000\n"
    kept = check(tmp_path, "train.py")
    assert kept.returncode == 0 and "within the budget: instructions 2000000 of 2200000" in kept.stdout
    assert "lowers it" not in kept.stdout
    broken = check(tmp_path, "--out", "dump", "train.py", BROKEN="1")
    assert broken.returncode == 1, broken.stderr
    assert "over the budget: instructions while torch compiled: 3,000,000, the budget is 2,200,000" in broken.stdout
    assert "train.py:17:1: error" in broken.stdout and "way out: " in broken.stdout
    of_dump = check(tmp_path, "dump")
    assert of_dump.returncode == 1 and "3,000,000" in of_dump.stdout


def test_instructions_that_cannot_be_counted_are_no_zero(tmp_path):
    """A machine whose counter is closed: torch says -1, as it does in a virtual machine."""
    program = COUNTED.replace("return Counter.opened", "return -1")
    (tmp_path / "train.py").write_text(program)
    (tmp_path / "depyf.toml").write_text("[budget]\ngraph_breaks = 0\ninstructions = 5\n")
    for update in ((), ("--update",)):
        told = check(tmp_path, *update, "train.py")
        assert told.returncode == 3 and "the counter of the processor can be opened" in told.stderr, told.stderr
        assert (tmp_path / "depyf.toml").read_text() == "[budget]\ngraph_breaks = 0\ninstructions = 5\n"
