"""``depyf doctor`` on small programs and on hostile ones."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest

import with_torch
from depyf.actions.doctor.trial import DoctorProgram, run_once
from depyf.run.run import RunTotals
from signals import hear_interrupts

pytestmark = pytest.mark.torch

HEAD = """
import os, sys, time
import torch

def compiled(function):
    return torch.compile(function, backend="eager")
"""
SIZES = """
def twice(x):
    return x * 2

twice_c = compiled(twice)
for n in (3, 4):
    twice_c(torch.ones(n))
"""
PROGRAMS = {
    "sizes": SIZES + "print('said', sys.argv[1:], sys.stdin.read())",
    "fails": SIZES + "raise ValueError('bad \\x1b[31m luck')",
    "status": SIZES + "sys.exit(7)",
    "gone": SIZES + "os._exit(0)",
    "killed": SIZES + "os.kill(os.getpid(), 15)",
    "loud": SIZES + "print('x' * 5_000_000); sys.stderr.write('y' * 5_000_000)",
    "fine": "compiled(lambda x: x + 1)(torch.ones(3))",
    "waits": SIZES + "print('ready', flush=True); time.sleep(1000)",
    "hangs": "def slow(gm, inputs):\n    time.sleep(1000)\n\ntorch.compile(lambda x: x + 1, backend=slow)(torch.ones(3))",
    "wrong": "def (",
    "tries": SIZES
    + """
def scaled(x):  # this program asks for the switch that would help it, and computes something else under it
    return x * x.sum().item() + float(torch._dynamo.config.capture_scalar_outputs)

scaled_c = compiled(scaled)
scaled_c(torch.ones(3))
""",
    "random": SIZES + "twice_c(torch.full((2,), float(int.from_bytes(os.urandom(4), 'little'))))",
}


def command(name, tmp_path, *options):
    script = tmp_path / f"{name}.py"
    script.write_text(HEAD + PROGRAMS[name])
    return [sys.executable, "-m", "depyf", "doctor", *options, str(script)]


def doctor(name, tmp_path, *options, arguments=(), typed=""):
    """The command and the programs that it starts have torch already, but those that signals end."""
    environment = {"PYTHONHASHSEED": "0", **os.environ}
    python, *rest = command(name, tmp_path, *options)
    if name not in ("killed", "hangs"):
        python = with_torch.command(environment)
    return subprocess.run(
        [python, *rest, *arguments], capture_output=True, text=True, timeout=500, input=typed, env=environment
    )


def test_what_to_fix_first(tmp_path):
    run = doctor("sizes", tmp_path, "--out", str(tmp_path / "dump"), arguments=("a", "--b"), typed="typed")
    assert run.returncode == 1, run.stderr
    assert run.stdout.startswith("said ['a', '--b'] typed\n")
    assert "ended after" in run.stdout and "2 compilations, 0 distinct graph breaks" in run.stdout
    assert "Fix first:\n1. sizes.py" in run.stdout and "torch._dynamo.mark_dynamic(x, 0)" in run.stdout
    assert (tmp_path / "dump" / "index.md").exists()


@pytest.mark.parametrize(
    ("name", "status", "said"),
    [
        ("fine", 0, "Nothing to fix"),
        ("fails", 3, "ended with status 1"),
        ("status", 3, "ended with status 7"),
        ("gone", 3, "it ended by os._exit"),
        ("killed", 3, "killed by SIGTERM: 2 compilations"),
        ("wrong", 3, "ended with status 1"),
    ],
)
def test_programs_that_end_badly(name, status, said, tmp_path):
    run = doctor(name, tmp_path)
    assert run.returncode == status, run.stdout + run.stderr
    assert said in run.stdout
    if name in ("fails", "status", "gone", "killed"):
        assert "mark_dynamic(x, 0)" in run.stdout, "what was compiled by then is told"
    if name == "fails":
        assert "ValueError" in run.stderr and "doctor_child" not in run.stderr, "the traceback is the program's own"


def test_an_error_before_anything_is_compiled_is_told(tmp_path):
    """Of a run whose output is kept: one that was tried."""
    script = tmp_path / "gone.py"
    script.write_text("import os, sys\nprint('MemoryError: no room', file=sys.stderr, flush=True)\nos._exit(3)\n")
    program = DoctorProgram(str(script), (), module=False)
    measured = run_once(program, (), tmp_path / "work", tmp_path / "dump", compare=False, shown=False)
    assert measured.totals == RunTotals() and measured.problem == "it ended with status 3: MemoryError: no room"


def test_megabytes_go_through(tmp_path):
    run = doctor("loud", tmp_path)
    assert run.returncode == 1 and run.stdout.count("x") > 5_000_000 and run.stderr.count("y") >= 5_000_000


def test_a_compilation_that_never_ends(tmp_path):
    run = doctor("hangs", tmp_path, "--timeout", "20")
    assert run.returncode == 3 and "did not end within 20 s" in run.stdout


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="the groups of processes of POSIX")
def test_interrupted(tmp_path):
    process = subprocess.Popen(
        command("waits", tmp_path), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        preexec_fn=hear_interrupts,
    )  # fmt: skip
    with process:
        try:
            assert process.stdout is not None and process.stdout.readline() == "ready\n"
            os.killpg(process.pid, signal.SIGINT)
            stdout, _ = process.communicate(timeout=300)
        finally:  # what is left of it would be an error of another test
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == 130 and "interrupted" in stdout and "mark_dynamic(x, 0)" in stdout


def test_what_cannot_be_run(tmp_path):
    missing = subprocess.run(
        [sys.executable, "-m", "depyf", "doctor", str(tmp_path / "no.py")], capture_output=True, text=True, timeout=100
    )
    assert (
        missing.returncode == 4 and missing.stderr.count("\n") == 1 and missing.stderr.startswith("depyf: cannot read")
    )
    module = subprocess.run(
        [sys.executable, "-m", "depyf", "doctor", "-m", "no.such.module"], capture_output=True, text=True, timeout=100
    )
    assert module.returncode == 4 and "no module named no.such.module" in module.stderr


def test_ways_out_are_measured(tmp_path):
    run = doctor("tries", tmp_path, "--try", "--json")
    assert run.returncode == 1, run.stderr
    page = json.loads(run.stdout)
    assert page["deterministic"] is True and page["compilations"] == 4 and page["graph_breaks"] == 1
    tried = {way["ways"][0]["id"]: way for way in page["tried"] if len(way["ways"]) == 1}
    assert set(tried) == {"mark-dynamic", "compile-dynamic", "capture-scalars"}
    assert tried["mark-dynamic"]["outcome"] == "helps" and tried["mark-dynamic"]["results"] == "equal"
    assert tried["mark-dynamic"]["ways"][0]["function"] == "twice" and tried["mark-dynamic"]["compilations"] == 3
    harmful = tried["capture-scalars"]
    assert harmful["outcome"] == "harmful" and harmful["results"] == "differ" and "scaled, call 1" in harmful["detail"]
    assert len(page["tried"]) == 3, "alternatives of one cause are not followed together"
    assert page["causes"] and page["seconds"] > 0


def test_a_program_that_is_not_deterministic(tmp_path):
    run = doctor("random", tmp_path, "--try", "--most", "1")
    assert run.returncode == 1, run.stderr
    assert "returns something else in each run (twice, call 3" in run.stdout and "unknown" in run.stdout
    assert "more were not tried (--most 2)" in run.stdout
