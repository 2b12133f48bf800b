"""The linter of JavaScript where there is no Node, where npm cannot bring the packages, and where it has brought them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.env import javascript


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout with a lock file, and commands that a test may put in front of the machine's."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "package-lock.json").write_text("{}\n")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    monkeypatch.delenv("DEPYF_REQUIRE_BROWSER", raising=False)
    monkeypatch.delenv("DEPYF_NODE", raising=False)
    return tmp_path


def command(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


@pytest.mark.parametrize("required", ["", "1"])
def test_without_node(
    project: Path, required: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DEPYF_NODE", "/nowhere")
    monkeypatch.setenv("DEPYF_REQUIRE_BROWSER", required)
    assert javascript.main([]) == bool(required)
    assert "not linted, no Node" in capsys.readouterr().err


@pytest.mark.parametrize("required", ["", "1"])
def test_without_the_packages(
    project: Path, required: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command(project / "bin" / "node", "echo v20.1.0")
    command(project / "bin" / "npm", "exit 1")
    monkeypatch.setattr(javascript, "install", lambda: 1)
    monkeypatch.setenv("DEPYF_REQUIRE_BROWSER", required)
    assert javascript.main([]) == bool(required)
    assert "npm ci could not bring" in capsys.readouterr().err


def test_packages_are_brought_once_for_a_lock_file(project: Path) -> None:
    command(project / "bin" / "npm", f'mkdir -p node_modules; echo "$1" >> {project / "asked"}')
    assert javascript.install(project) == 0 == javascript.install(project)
    assert (project / "asked").read_text() == "ci\n"
    (project / "package-lock.json").write_text('{"changed": 1}\n')
    assert javascript.install(project) == 0
    assert (project / "asked").read_text() == "ci\nci\n"
