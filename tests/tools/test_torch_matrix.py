"""``tools/torch/torch_matrix.py``: one run at a time has a folder, and a run that is killed leaves no test processes running."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tools.torch.torch_matrix import MATRIX, alone, release

RUN = """
import signal, sys
from pathlib import Path
from tools.torch.torch_matrix import alone, run_file
folder = Path(sys.argv[1])
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
with alone(folder):
    run_file(Path(sys.executable), str(folder / "test_slow.py"), folder, "0.0", 900)
"""


def started(folder: Path) -> tuple[subprocess.Popen[str], int]:
    """A run in ``folder``, and the process of its one test, which says its number."""
    (folder / "test_slow.py").write_text(
        "import os, pathlib, time\n"
        f"def test_slow():\n    pathlib.Path({str(folder / 'running')!r}).write_text(str(os.getpid()))\n    time.sleep(900)\n"
    )
    run = subprocess.Popen([sys.executable, "-c", RUN, str(folder)], text=True, env=dict(os.environ) | {"PYTHONPATH": os.pathsep.join(sys.path)})  # fmt: skip
    running = folder / "running"
    for _ in range(6000):
        if running.exists() and running.read_text():
            return run, int(running.read_text())
        time.sleep(0.05)
    raise AssertionError("the test was not started")


def ended(process: int) -> bool:
    for _ in range(2400):
        try:
            if Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except OSError:
            return True
        time.sleep(0.05)
    return False


def test_another_run_in_the_same_folder_is_refused_and_leaves_the_first_alone(tmp_path: Path) -> None:
    refused = f"belongs to another run \\(process {os.getpid()}\\)"
    with alone(tmp_path), pytest.raises(SystemExit, match=refused), alone(tmp_path):
        pass
    with alone(tmp_path):
        pass


def test_a_run_that_is_asked_to_end_ends_its_tests(tmp_path: Path) -> None:
    run, test = started(tmp_path)
    run.terminate()
    assert run.wait(300) == 143
    assert ended(test)


def test_what_a_killed_run_left_is_ended_by_the_next(tmp_path: Path) -> None:
    run, test = started(tmp_path)
    run.send_signal(signal.SIGKILL)
    run.wait(300)
    os.kill(test, 0)  # still running
    with alone(tmp_path):
        assert ended(test)


def test_a_number_that_is_another_process_by_now_is_left_alone(tmp_path: Path) -> None:
    other = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(900)"], start_new_session=True)
    try:
        (tmp_path / "lock").write_text(f"1 {other.pid}\n")
        with alone(tmp_path):
            assert other.poll() is None
    finally:
        other.kill()
        other.wait()


def test_a_torch_on_another_python() -> None:
    assert release("2.13") == ("2.13", MATRIX["2.13"])
    assert release("2.13-py3.10") == ("2.13", ("3.10",))
