"""A program that ``with_torch`` runs finds what it finds in a process of its own, and ends as it does there."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import with_torch
from signals import hear_interrupts

pytestmark = [pytest.mark.torch, pytest.mark.skipif(not with_torch.FORKS, reason="forks")]
pytest.importorskip("torch")

SHOW = """
import atexit, os, signal, sys, threading
sys.path = [path for path in sys.path if (os.path.isdir(path) or not path) and "_vendor" not in path]  # of setuptools
print(sys.argv, sys.orig_argv[1:], sys.path, sys.flags, sys.warnoptions, os.getcwd(), sorted(os.environ.items()))
print(sorted(name for name in globals() if name != "__annotations__"), __name__, globals().get("__file__"), type(__loader__))
print(sys.stdin.read(), sys.stdin.isatty(), sys.stdout.encoding, sys.stdout.line_buffering, signal.getsignal(signal.SIGINT))
print(sys.modules["__main__"].__dict__ is globals(), threading.current_thread() is threading.main_thread())
print([(name, signal.getsignal(name)) for name in (signal.SIGCHLD, signal.SIGTERM, signal.SIGPIPE)])
atexit.register(print, "at exit")
"""
ENDS = {
    "0": "",
    "7": "sys.exit(7)",
    "text": "sys.exit('a message')",
    "error": "def f(): raise ValueError('a\\nb')\nf()",
    "gone": "sys.stdout.flush(); os._exit(5)",
    "killed": "sys.stdout.flush(); os.kill(os.getpid(), 9)",
    "thread": "threading.Thread(target=print, args=('of a thread',)).start()",
}


def both(*command: str | Path, **given: object) -> None:
    parts = [sys.executable, *map(str, command)]
    given.setdefault("env", dict(os.environ))  # a library may have changed that of C alone
    forked = with_torch.run(parts, **given)  # type: ignore[arg-type]
    alone = subprocess.run(  # type: ignore[call-overload]
        parts, capture_output=True, text=True, preexec_fn=hear_interrupts, **given
    )
    assert (forked.returncode, forked.stdout, forked.stderr) == (alone.returncode, alone.stdout, alone.stderr)


@pytest.mark.parametrize("end", ENDS)
def test_as_in_a_process_of_its_own(end: str, tmp_path: Path) -> None:
    program = SHOW + ENDS[end]
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "program.py").write_text(program)
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}:relative", "DEPYF_OF_THE_TEST": "1"}
    for command in (["-c", program], ["sub/program.py"], ["-m", "sub.program"]):
        both(*command, "an argument", "-m", "-c", cwd=tmp_path, env=environment, input="typed")
    if end == "0":
        both("-I", "sub/program.py", cwd=tmp_path, input="")


def test_where_interrupts_are_ignored(tmp_path: Path) -> None:
    """A test in the background: the programs hear Ctrl-C all the same."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        both("-c", SHOW, cwd=tmp_path, input="")
    finally:
        signal.signal(signal.SIGINT, before)


def test_what_does_not_run(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text("def (:\n")
    for command in (["bad.py"], ["-c", "def (:"], ["-m", "no_such_module"]):
        both(*command, cwd=tmp_path)


def test_a_program_that_does_not_end_is_killed(tmp_path: Path) -> None:
    program = f"import os, time; open({str(tmp_path / 'id')!r}, 'w').write(str(os.getpid())); time.sleep(500)"
    for patience in (1, 10, 100):  # how long it takes to begin depends on what else the machine does
        with pytest.raises(subprocess.TimeoutExpired):
            with_torch.run([sys.executable, "-c", program], timeout=patience)
        if (tmp_path / "id").is_file() and (tmp_path / "id").read_text():
            break
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "id").read_text()), 0)


def test_torch_is_there_and_works() -> None:
    program = "import sys; print('torch._dynamo' in sys.modules, 'depyf' in sys.modules); import torch; print((torch.ones(300, 300) @ torch.ones(300, 300)).sum().item(), torch.get_num_threads())"
    done = with_torch.run([sys.executable, "-c", program])
    import torch

    assert done.stdout == f"True False\n27000000.0 {torch.get_num_threads()}\n", done.stderr


def test_another_command_is_refused() -> None:
    with pytest.raises(ValueError, match="is not"):
        with_torch.run(["sh", "-c", "true"])


def test_the_command(tmp_path: Path) -> None:
    """It and what it starts as ``sys.executable`` are forked; with options or another start they are not."""
    environment = {**os.environ, "DEPYF_OF_THE_TEST": "1"}
    program = tmp_path / "program.py"
    program.write_text(
        "import os, subprocess, sys\nprint('torch' in sys.modules, sys.argv[1:], sys.stdin.read(), flush=True)\n"
        "sys.argv[1:] and subprocess.run([sys.executable, __file__], check=True)\n"
        "sys.argv[2:] and os.kill(os.getpid(), int(sys.argv[2]))"
    )

    def ran(*arguments: str, **changed: str) -> tuple[int, str]:
        command = [with_torch.command(environment), *arguments]
        done = subprocess.run(
            command, cwd=tmp_path, env=environment | changed, input="typed", capture_output=True, text=True
        )
        return done.returncode, done.stdout + done.stderr

    assert ran("program.py", "3") == (0, "True ['3'] typed\nTrue [] \n")
    assert ran("program.py", "3", "15") == (-15, "True ['3', '15'] typed\nTrue [] \n")
    assert ran("-S", "program.py", "3") == (0, "False ['3'] typed\nFalse [] \n")
    assert ran("program.py", "3", PYTHONWARNINGS="ignore::UserWarning") == (0, "False ['3'] typed\nFalse [] \n")


def test_a_command_that_is_killed_takes_its_program_along(tmp_path: Path) -> None:
    program = f"import os, time; open({str(tmp_path / 'id')!r}, 'w').write(str(os.getpid())); print(flush=True); time.sleep(500)"
    environment = dict(os.environ)
    with subprocess.Popen(
        [with_torch.command(environment), "-c", program], env=environment, stdout=subprocess.PIPE
    ) as command:
        assert command.stdout is not None and command.stdout.readline() == b"\n"
        command.kill()
    number = int((tmp_path / "id").read_text())
    for _ in range(3000):
        try:
            os.kill(number, 0)
        except ProcessLookupError:
            break
        time.sleep(0.01)
    else:
        raise AssertionError("it still runs")
