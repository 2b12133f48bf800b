"""A missing interpreter: named, skipped or failed, and said at the end of a run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import needs
from tools import ROOT
from tools.env import interpreters

OTHER = next(version for version in interpreters.VERSIONS if version != needs.HOST)


@pytest.fixture
def lone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with the running Python only."""
    host = Path(sys.executable)
    monkeypatch.setattr(interpreters, "find", lambda version: host if version == needs.HOST else None)
    monkeypatch.setattr(needs, "used", {needs.HOST})


def test_a_missing_one_is_named_and_skipped(lone: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(needs.REQUIRE, raising=False)
    with pytest.raises(pytest.skip.Exception, match=f"no Python {OTHER} on this machine .make pythons."):
        needs.need(OTHER)
    assert needs.need(needs.HOST) == needs.need(interpreters.number(needs.HOST)) == Path(sys.executable)
    assert list(needs.available()) == [needs.HOST]


def test_a_missing_one_fails_where_all_are_required(lone: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(needs.REQUIRE, "1")
    with pytest.raises(pytest.fail.Exception, match=f"no Python {OTHER} on this machine"):
        needs.need(OTHER)
    with pytest.raises(pytest.fail.Exception, match=OTHER):
        needs.available()


def test_the_summary_names_every_version(lone: None) -> None:
    line = needs.summary({needs.HOST})
    assert line.startswith(f"interpreters: tested {needs.HOST}; not on this machine: ")
    assert all(line.count(f" {version}") >= 1 for version in interpreters.VERSIONS)
    assert f"not asked for: {needs.HOST}" in needs.summary(set())


def test_a_run_ends_with_the_line() -> None:
    """On a machine without other interpreters: skipped, named, and said last, by the process that collects from others."""
    home = os.devnull  # nothing is below it
    environment = dict(os.environ) | {
        "PATH": "", "HOME": home, "PYENV_ROOT": home, "DEPYF_PYTHONS": home, "UV_PYTHON_INSTALL_DIR": home,
        needs.REQUIRE: "",
    }  # fmt: skip
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "1", "tests/unit/decompiler/verify/test_generators.py"]  # fmt: skip
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    line, closing = done.stdout.splitlines()[-2:]
    assert done.returncode == 0, done.stdout + done.stderr
    assert line.startswith(f"interpreters: tested {needs.HOST}; not on this machine: ")
    assert "passed" in closing or "skipped" in closing
    assert f"no Python {'3.12' if needs.HOST != '3.12' else '3.13'} on this machine" in done.stdout


def test_it_is_found_in_every_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A newer one before an older one, and one that does not answer is passed over: pyenv's shims do not answer."""
    from depyf.decompiler.verify.recompiling import interpreters as places

    def put(path: Path, answer: str) -> str:
        path.parent.mkdir(parents=True)
        path.write_text(f"#!/bin/sh\n{answer}\n")
        path.chmod(0o755)
        return str(path)

    answers = "echo 3.7"
    broken = put(tmp_path / "pyenv" / "shims" / "python3.7", "exit 127")
    named = put(tmp_path / "bin" / "python3.7", "exit 1")
    monkeypatch.setenv("PATH", os.pathsep.join([str(Path(broken).parent), str(Path(named).parent), "/usr/bin", "/bin"]))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "pyenv"))
    monkeypatch.setenv("UV_PYTHON_INSTALL_DIR", str(tmp_path / "uv"))
    monkeypatch.setenv("DEPYF_PYTHONS", str(tmp_path / "ours"))

    def found() -> str | None:
        places.find_interpreter.cache_clear()
        places.version_of.cache_clear()
        return places.find_interpreter((3, 7))

    assert found() is None
    ours = put(tmp_path / "ours" / "bin" / "python3.7", answers)
    assert found() == ours
    by_uv = put(tmp_path / "uv" / "cpython-3.7.9-linux" / "bin" / "python3.7", answers)
    assert found() == by_uv
    older = put(tmp_path / "pyenv" / "versions" / "3.7.9" / "bin" / "python3.7", answers)
    assert found() == older
    newer = put(tmp_path / "pyenv" / "versions" / "3.7.16" / "bin" / "python3.7", answers)
    assert found() == newer
    Path(named).write_text(f"#!/bin/sh\n{answers}\n")
    assert found() == named
    places.find_interpreter.cache_clear()
    places.version_of.cache_clear()
