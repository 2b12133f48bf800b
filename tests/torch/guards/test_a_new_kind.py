"""A kind of guard that a new torch might have: one file in ``run/guards/kinds/`` is enough for every view."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.torch

KIND = '''
import ast
import re

from depyf.run.advice.registry import use
from depyf.run.guards.difference import Difference, GuardSide
from depyf.run.guards.guard_kind import GuardKind, UnknownValueError, arguments, asked


def moon_is(phase, guard=None):
    """The moon is as at compile time."""
    return asked(guard, {})


class MoonGuard(GuardKind):
    name = "moon"
    functions = (moon_is,)
    checks = ("moon_is",)
    asking = hooked = says_all = frozenset(checks)

    def printed(self, guard):
        match = re.fullmatch(r"___check_moon\\(\\) == (?P<phase>'.*')", guard.text)
        return [f"moon_is({match['phase']})"] if match is not None else []

    def differences(self, tree, look, holds):
        try:
            found = GuardSide(look.ask("of_torch", "phase_of_the_moon"))
        except UnknownValueError:
            found = GuardSide()
        return (Difference(self.name, "", "phase", wanted=GuardSide(ast.literal_eval(arguments(tree)[0])), found=found),)

    def subject(self, difference):
        return "the moon changed"

    def about(self, difference, shown):
        return "the moon"

    def sentence(self, difference, placed, shown):
        return f"the moon was {difference.wanted.text}, and is not in every call"

    def advice(self, difference, place):
        return (use("one-value", name="the moon"),)


KIND = MoonGuard()
'''
PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
from depyf.run.guards import kinds
kinds.__path__.append(sys.argv[1])

import torch
import depyf

torch.phase_of_the_moon = "full"


def tide(x):
    return x * 2


builder = torch._dynamo.guards.GuardBuilder
default_device = builder.DEFAULT_DEVICE


def with_moon(self, guard):
    default_device(self, guard)
    phase = torch.phase_of_the_moon
    text = [f"___check_moon() == {phase!r}"]
    root = getattr(self.guard_manager, "root", self.guard_manager)
    try:
        root.add_lambda_guard(lambda L: torch.phase_of_the_moon == phase, text, None)
    except TypeError:  # torch before 2.12 takes no stack
        root.add_lambda_guard(lambda L: torch.phase_of_the_moon == phase, text)


builder.DEFAULT_DEVICE = with_moon
told = {}
compiled = torch.compile(tide, backend="eager")
x = torch.ones(3)
with depyf.prepare_debug("dump"):
    compiled(x)
    torch.phase_of_the_moon = "new"
    told["why"] = str(depyf.why(compiled, x))
    told["why json"] = str(depyf.why(compiled, x).to_json())
    with depyf.watch() as watched:
        compiled(x)
    told["watch"] = str(watched)
torch.phase_of_the_moon = "full"
told["explain"] = str(depyf.explain(compiled))
replayed = depyf.replay("dump/full_code_for_tide_0.py")
assert torch.equal(replayed(x), x * 2) and replayed.disagreements == ()
told["replay"] = "\\n".join(str(step) for entry in replayed.steps(x) for step in entry.steps)
import json
print(json.dumps(told))
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("moon")
    (folder / "kinds").mkdir()
    (folder / "kinds" / "moon_guard.py").write_text(KIND)
    (folder / "program.py").write_text(PROGRAM)
    command = [sys.executable, "-W", "error::RuntimeWarning", "program.py", str(folder / "kinds")]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return folder, json.loads(done.stdout.splitlines()[-1])


def in_process(folder, *arguments):
    """``depyf`` with the new kind."""
    start = f"from depyf.run.guards import kinds; kinds.__path__.append({str(folder / 'kinds')!r}); "
    program = f"{start}import sys; from depyf.cli.commands import run as main; sys.exit(main({list(arguments)!r}))"
    done = subprocess.run([sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_what_is_asked(run):
    _, told = run
    assert "the moon changed: expected full, actual new" in told["why"]
    assert "advice  keep the moon the same" in told["why"]
    assert "'expected': 'full', 'actual': 'new'" in told["why json"]
    assert "the moon changed: expected full, actual new" in told["watch"]
    assert "0/0 did not fit: moon_is('full')" in told["explain"]
    assert "moon_is('full')  (full)" in told["replay"], told["replay"]


def test_what_is_dumped(run):
    folder, _ = run
    page = (folder / "dump" / "full_code_for_tide_0.py").read_text()
    assert "moon_is('full', guard_0_0[" in page and "    moon_is,\n" in page
    index = (folder / "dump" / "index.md").read_text()
    assert "the moon was full, and is not in every call" in index and "keep the moon the same" in index
    manifest = json.loads((folder / "dump" / "manifest.json").read_text())
    (reason,) = [r for f in manifest["functions"] for e in f["entries"] for r in e["recompiled_because"]]
    assert (reason["guard"], reason["expected"]) == ("moon_is('full')", "full")


def test_what_is_made_of_a_dump(run):
    folder, _ = run
    in_process(folder, "export", "dump", "-o", "package")
    assert "moon_is('full')" in (folder / "package" / "hooks.py").read_text()
    in_process(folder, "report", "dump", "-o", "report.html")
    assert os.path.getsize(folder / "report.html") > 0


def test_a_torch_that_is_newer_than_depyf(tmp_path):
    """Without that file: torch's words, marked as such."""
    (tmp_path / "program.py").write_text(
        PROGRAM.replace('told["why json"]', 'print(told["why"])\n    told["why json"]')
    )
    done = subprocess.run(
        [sys.executable, "program.py", str(tmp_path / "none")], cwd=tmp_path, capture_output=True, text=True
    )
    assert "torch_checks(" in done.stdout and "expected as when it was compiled" in done.stdout, (
        done.stdout + done.stderr
    )
    index = (tmp_path / "dump" / "index.md").read_text()
    assert "torch's words: ___check_moon()" in index
