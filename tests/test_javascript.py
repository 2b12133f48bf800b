"""The report's JavaScript by itself: each file of ``tests/js`` on Node's test runner."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import needs
from tools.env import javascript

ROOT = Path(__file__).resolve().parents[1]
FILES = sorted((ROOT / "tests" / "js").glob("*.test.js"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_on_node(path: Path) -> None:
    node = needs.need_program("node")
    if javascript.install():
        needs.missing("packages of package-lock.json", "npm ci", needs.REQUIRE_BROWSER)
    done = subprocess.run([node, "--test", path], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_bundle_is_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(javascript, "ROOT", tmp_path)
    monkeypatch.setattr(javascript, "BUNDLE", tmp_path / "report.js")
    monkeypatch.setattr(javascript, "bundled", lambda node: b"made")
    assert javascript.check_bundle(Path("node"), fix=False) == 1 and "not what" in capsys.readouterr().err
    assert javascript.check_bundle(Path("node"), fix=True) == 0 == javascript.check_bundle(Path("node"), fix=False)
    monkeypatch.setattr(javascript, "bundled", lambda node: None)
    assert javascript.check_bundle(Path("node"), fix=True) == 1
