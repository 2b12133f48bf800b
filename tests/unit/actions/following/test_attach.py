"""A process is asked what torch.compile does in it, and goes on as if it had not been."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import needs
from depyf.actions.following.asked_process import ask
from depyf.actions.following.attached_lines import attached_lines
from depyf.actions.following.offered_signal import ANNOTATIONS, answer_file, inside_text, offer_of, offered, signal_of
from depyf.cli import main
from depyf.cli.exit_status import ExitStatus
from depyf.errors import DepyfError

SOURCES = Path(__file__).resolve().parents[4] / "src"
pytestmark = pytest.mark.skipif(os.name == "nt", reason="there are no such signals")
SHOWS = """
import sys
def state():
    return sorted(sys.modules), sorted(vars(sys.modules["__main__"])), sys.getrecursionlimit()
"""
WAITS = """
import os, threading, time
before = end = None
before = state()
print("ready", flush=True)
end = time.monotonic() + 60
while time.monotonic() < end and not os.path.exists(sys.argv[1]):
    time.sleep(0.01)
print("the same" if state() == before else "changed", flush=True)
"""
OFFERS = "import signal\nfrom depyf.actions.following.offered_signal import offered\nwith offered(signal.SIGUSR1):\n"


@contextmanager
def running(python: str | Path, program: str, stop: Path) -> Iterator[subprocess.Popen[str]]:
    environment = {**os.environ, "PYTHONPATH": str(SOURCES)}
    process = subprocess.Popen(
        [str(python), "-c", program, str(stop)], stdout=subprocess.PIPE, text=True, env=environment
    )
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "ready\n"
        yield process
        stop.touch()
        assert process.stdout.readline() == "the same\n"
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def indented(text: str) -> str:
    return "".join(f"    {line}\n" for line in text.splitlines())


def test_on_a_signal_that_the_user_chose(tmp_path: Path) -> None:
    with running(sys.executable, SHOWS + OFFERS + indented(WAITS), tmp_path / "stop") as process:
        assert offer_of(process.pid) == signal.SIGUSR1
        for _ in range(2):
            found = ask(process.pid, 60)
            assert (found["pid"], found["torch"], found["functions"]) == (process.pid, "", [])
        assert not answer_file(process.pid).exists()
    assert offer_of(process.pid) is None


def test_by_remote_exec(tmp_path: Path) -> None:
    python = needs.need("3.14")
    left = set(os.listdir(tempfile.gettempdir()))
    with running(python, SHOWS + WAITS, tmp_path / "stop") as process:
        asks = [str(python), "-m", "depyf", "attach", "--seconds", "60", "--json", str(process.pid)]
        environment = {**os.environ, "PYTHONPATH": str(SOURCES)}
        done = subprocess.run(asks, capture_output=True, text=True, env=environment)
        if "may not be asked" in done.stderr:
            pytest.skip("this machine lets no process be debugged")
        assert done.returncode == 0, done.stderr
        found = json.loads(done.stdout)
        assert (found["pid"], found["torch"], found["compiling"]) == (process.pid, "", [])
    assert not [name for name in set(os.listdir(tempfile.gettempdir())) - left if name.startswith("depyf-attach-")]


def test_the_text_goes_where_nobody_waits(tmp_path: Path) -> None:
    folder = tmp_path / "asked"
    folder.mkdir()
    script = folder / "inside.py"
    script.write_text(inside_text(str(folder / "answer"), str(script)))
    exec(compile(script.read_text(), str(script), "exec", ANNOTATIONS), {})
    assert not folder.exists()


def test_an_offer_ends_with_its_block() -> None:
    before = signal.getsignal(signal.SIGUSR2)
    with offered(signal.SIGUSR2):
        assert offer_of(os.getpid()) == signal.SIGUSR2
        assert ask(os.getpid(), 60)["pid"] == os.getpid()
    assert offer_of(os.getpid()) is None and signal.getsignal(signal.SIGUSR2) is before


def test_an_offer_of_a_process_that_is_gone(tmp_path: Path) -> None:
    program = OFFERS + "    import os\n    print('ready', flush=True)\n    os.kill(os.getpid(), 9)\n"
    environment = {**os.environ, "PYTHONPATH": str(SOURCES)}
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, env=environment)
    process.communicate()
    offer = answer_file(process.pid).with_suffix("")
    assert offer.exists() and offer_of(process.pid) is None
    offer.unlink()


@pytest.mark.parametrize("name", ["SIGNONE", "KILL", "sigint", ""])
def test_signals_that_will_not_do(name: str) -> None:
    with pytest.raises(DepyfError, match="--answer-on"):
        signal_of(name)


def test_who_cannot_be_asked(capsys: pytest.CaptureFixture[str]) -> None:
    done = subprocess.Popen([sys.executable, "-c", ""])
    done.wait()
    assert main(["attach", str(done.pid)]) == ExitStatus.UNREADABLE
    assert f"there is no process {done.pid}" in capsys.readouterr().err
    assert main(["attach", "0"]) == ExitStatus.USAGE


def test_what_is_told() -> None:
    guard = "+- RootGuardManager\n| +- EQUALS_MATCH: L['n'] == {n}  # return x * n  # train.py:2 in f\n"
    found = {
        "pid": 7, "python": "3.14.0", "torch": "2.14.1", "now": 100.0,
        "functions": [{
            "name": "f", "file": "/p/train.py", "line": 1,
            "entries": [{"id": f"0/{at}", "guards": guard.format(n=at + 2)} for at in range(2)],
        }],
        "compiling": [{
            "id": "1/0", "name": "g\x1b[2J", "file": "/p/train.py", "line": 9, "since": 88.0, "thread": "MainThread",
            "traced": [("/p/train.py", 10, "g")], "inner": 1,
            "stack": [("/p/train.py", 20, "<module>"), ("/s/site-packages/torch/x.py", 3, "compiles")],
        }],
        "done": [{"id": "0/0", "entire_frame_compile_time_s": 2.5}],
    }  # fmt: skip
    text = "\n".join(attached_lines(found))
    assert "Compiling now: 1/0, g\\x1b[2J (/p/train.py:9), for 12.0 s, in thread MainThread" in text
    assert "called from   /p/train.py:20 in <module>" in text and "Dynamo is at  /p/train.py:10 in g" in text
    assert "  0/0    2.5 s, 1 guard\n         only if L['n'] == 2\n  0/1    1 guard\n         only if" in text
