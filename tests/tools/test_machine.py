"""Which tests ask what is on the machine (``--machine``), and the machine of a newcomer (``tools/env/fresh``)."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import machine

FRESH = machine.ROOT / "tools" / "env" / "fresh"


def fresh(*command: str, **settings: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHON": os.path.realpath(sys.executable), **settings}
    return subprocess.run(
        [FRESH, *command], env=environment, input="typed", capture_output=True, text=True, check=False
    )


def test_files_that_ask() -> None:
    asks = {file: machine.asks(machine.TESTS / file) for file in (
        "test_cases.py",  # by itself
        "unit/decompiler/verify/test_generators.py",  # through a helper
        "browser/test_page_frame.py",  # its conftest.py does
        "tools/test_machine.py", "torch/answers/test_doctor.py", "unit/test_architecture.py",
    )}  # fmt: skip
    assert [file for file, found in asks.items() if not found] == [
        "tools/test_machine.py", "torch/answers/test_doctor.py", "unit/test_architecture.py",
    ]  # fmt: skip


def test_every_file_that_needs_something_asks() -> None:
    """What the import says, and what the text says, which is asked here alone."""
    for file in machine.TESTS.rglob("test_*.py"):
        text = file.read_text(encoding="utf-8")
        if any(f"needs.{name}(" in text for name in ("need", "available", "another", "need_program")):
            assert machine.asks(file), file


def test_the_others_are_not_collected() -> None:
    command = [sys.executable, "-m", "pytest", "--machine", "--collect-only", "-q", "-p", "no:cacheprovider", "tests/unit/decompiler/verify"]  # fmt: skip
    done = subprocess.run(command, cwd=machine.ROOT, capture_output=True, text=True, check=False)
    files = {line.partition("::")[0] for line in done.stdout.splitlines() if "::" in line}
    assert "tests/unit/decompiler/verify/test_generators.py" in files and done.returncode == 0, (
        done.stdout + done.stderr
    )
    assert files == {file for file in files if machine.asks(machine.ROOT / file)}


def test_a_newcomer_has_one_python_and_no_settings(tmp_path: Path) -> None:
    (tmp_path / "python3.99").write_text("#!/bin/sh\nexit 0\n")
    (tmp_path / "python3.99").chmod(0o755)
    settings = {
        "PYTHONWARNINGS": "error",
        "TORCH_LOGS": "+dynamo",
        "DEPYF_REQUIRE_PYTHONS": "1",
        "PIP_OF_THE_TEST": "a b\nc",
    }
    settings["PATH"] = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    program = (
        "import json, os, shutil, signal, sys; print(json.dumps([dict(os.environ), os.listdir(os.path.expanduser('~')), "
        "signal.getsignal(2), sys.version, shutil.which('python3.99'), sys.stdin.read(), os.getcwd()]))"
    )
    for options, known in ((["--here"], None), (["--here", "--all"], str(tmp_path / "python3.99"))):
        done = fresh(*options, "python3", "-c", program, **settings)
        environment, home, interrupts, version, other, typed, folder = json.loads(done.stdout)
        assert done.returncode == 0 and not done.stderr
        assert {"PYTHONWARNINGS", "TORCH_LOGS", "PYTHONPATH"}.isdisjoint(environment)
        assert ("DEPYF_REQUIRE_PYTHONS" in environment) == bool(known) and environment["PIP_OF_THE_TEST"] == "a b\nc"
        assert home == [] and interrupts == signal.SIG_IGN and other == known and typed == ""
        assert folder == str(machine.ROOT) and not os.path.exists(environment["HOME"])
        assert known or version == sys.version and not os.path.exists(environment["DEPYF_BROWSER"])


def test_the_status_is_that_of_the_command() -> None:
    assert fresh("--here", "sh", "-c", "exit 7").returncode == 7
    assert fresh("--here", "true", PYTHON="/no/python").returncode == 2
