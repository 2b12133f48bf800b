"""``make env`` says what is missing, and whether it is the package or the network."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from tools.env import environment

RETRY = (
    "WARNING: Retrying (Retry(total=%d, connect=None, read=None, redirect=None, status=None)) after connection broken by "
    "'NewConnectionError('<HTTPSConnection object>: Failed to establish a new connection: [Errno -3] Temporary failure in "
    "name resolution')': /simple/torch/"
)
NONE = "ERROR: No matching distribution found for torch==99"


def pip_that_says(tmp_path: Path, text: str, status: int = 1) -> Path:
    """An interpreter whose pip prints ``text`` and ends with ``status``."""
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\nprintf '%s\\n' {shlex.quote(text)}\nexit {status}\n")
    python.chmod(0o755)
    return python


def test_a_package_that_is_not_to_be_had(tmp_path: Path) -> None:
    assert environment.install(pip_that_says(tmp_path, NONE), "torch==99") == NONE[len("ERROR: ") :]


def test_a_build_that_fails_says_why(tmp_path: Path) -> None:
    text = f"  error: subprocess-exited-with-error\n      {NONE}\n  note: This error originates from a subprocess"
    assert environment.install(pip_that_says(tmp_path, text), "-e", ".") == NONE[len("ERROR: ") :]


@pytest.mark.parametrize(
    "last", [NONE, "note: This error originates from a subprocess, and is likely not a problem with pip."]
)
def test_without_network(last: str, tmp_path: Path) -> None:
    text = "\n".join([*(RETRY % left for left in (4, 3, 2, 1, 0)), last])
    with pytest.raises(
        SystemExit,
        match=r"no package index can be reached: \[Errno -3\] Temporary failure in name resolution\. make env",
    ):
        environment.install(pip_that_says(tmp_path, text), "torch==99")


def test_an_index_that_answers_late_is_no_missing_network(tmp_path: Path) -> None:
    assert environment.install(pip_that_says(tmp_path, f"{RETRY % 4}\n{NONE}"), "torch==99") == NONE[len("ERROR: ") :]
    assert environment.install(pip_that_says(tmp_path, RETRY % 0, status=0), "torch==99") == ""
