"""A job that compiles is followed, and asked what it does; what it computes and prints is as without."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import signals

pytestmark = [pytest.mark.torch, pytest.mark.skipif(os.name == "nt", reason="there are no such signals")]
ROOT = Path(__file__).parents[3]
PROGRAM = """
import os, sys, time
import torch

def waits(graph, inputs):
    print("compiling", flush=True)
    while made and not os.path.exists(sys.argv[1]):
        time.sleep(0.01)
    made.append(graph)
    return graph

made = []

@torch.compile(backend=waits)
def f(x, n):
    return x * n

def main():
    for n in (2, 3):
        print(f(torch.ones(2), n).sum().item(), flush=True)

main()
"""


def test_a_job_is_followed_and_asked(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(PROGRAM)
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "TORCH_TRACE": str(tmp_path / "logs")}
    depyf = [sys.executable, "-m", "depyf"]
    job = subprocess.Popen(
        [*depyf, "run", "--live", "--answer-on", "SIGUSR1", "--out", "d", "job.py", "stop"],
        cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert job.stdout is not None
        assert [job.stdout.readline() for _ in range(3)] == ["compiling\n", "4.0\n", "compiling\n"]
        asked = subprocess.run([*depyf, "attach", str(job.pid)], env=environment, capture_output=True, text=True)
        assert asked.returncode == 0, asked.stderr
        as_json = subprocess.run(
            [*depyf, "attach", "--json", str(job.pid)], env=environment, capture_output=True, text=True
        )
        (tmp_path / "stop").touch()
        out, err = job.communicate(timeout=600)
    finally:
        job.kill()
        job.wait()
    assert (job.returncode, out) == (0, "6.0\n")
    assert re.search(r"Compiling now: 0/1, f \(.*job.py:\d+\), for \d+\.\d s, in thread MainThread", asked.stdout)
    assert re.search(r"called from .*job.py:\d+ in <module>\n.*job.py:\d+ in main\n", asked.stdout), asked.stdout
    assert re.search(r"it runs .*job.py:\d+ in waits", asked.stdout) and "depyf/" not in asked.stdout, asked.stdout
    assert "In torch's cache: 1 entry of 1 function" in asked.stdout
    found = json.loads(as_json.stdout)
    assert [entry["id"] for function in found["functions"] for entry in function["entries"]] == ["0/0"]
    assert found["pid"] == job.pid and "waits" in {name for _, _, name in found["compiling"][0]["stack"]}
    live = [line for line in err.split("\n") if line.startswith(("0/", "      because"))]
    for folder in ("d", "logs"):
        following = subprocess.Popen(
            [*depyf, "index", "--follow", folder], cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True,
            preexec_fn=signals.hear_interrupts,
        )  # fmt: skip
        assert following.stdout is not None
        told = [following.stdout.readline().rstrip("\n") for _ in range(len(live))]
        following.send_signal(signal.SIGINT)
        following.wait()
        following.stdout.close()
        assert told == live, folder
    assert len(live) == 3 and "because `n` is a constant of the compiled code (2, 3), job.py:" in live[2]
    assert not (Path(os.environ.get("TMPDIR", "/tmp")) / f"depyf-attach-of-{os.getuid()}" / str(job.pid)).exists()


ASKED_INSIDE = """
import ast, os, signal
import torch
from torch._dynamo import convert_frame
from depyf.actions.following.offered_signal import answer_file, offered

@torch.compile(backend="eager")
def f(x):
    y = x + 1
    signal.raise_signal(signal.SIGUSR1)
    return y * 2

def asked():
    path = answer_file(os.getpid())
    path.write_bytes(b"")
    f(torch.ones(2))
    found = ast.literal_eval(path.read_text())
    path.unlink()
    return sorted(entry["id"] for function in found["functions"] for entry in function["entries"])

with offered(signal.SIGUSR1):
    first, frames = asked(), dict(convert_frame.FRAME_COMPILE_COUNTER)
    with torch.compiler.set_stance("fail_on_recompile"):
        second = asked()
    print(first, second, dict(convert_frame.FRAME_COMPILE_COUNTER) == frames)
"""


def test_a_job_is_asked_inside_compiled_code(tmp_path: Path) -> None:
    """Dynamo looks at every frame there: it compiles none of ours."""
    (tmp_path / "job.py").write_text(ASKED_INSIDE)
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run([sys.executable, "job.py"], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.stdout == "['0/0'] ['0/0', '1/0'] True\n", done.stderr
