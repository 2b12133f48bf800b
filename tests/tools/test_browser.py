"""``make browser`` says of Chromium and Node where each is, how it was installed, or what was tried in vain."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest

import needs
from tools.env import browser


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with neither, and nothing to install them with; its folder of commands."""
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.delenv("DEPYF_BROWSER", raising=False)
    monkeypatch.delenv("DEPYF_NODE", raising=False)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    return tmp_path / "bin"


def command(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\nPATH=/usr/bin:/bin\n{text}\n")
    path.chmod(0o755)


def test_neither_can_be_installed(bare: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert browser.main([]) == 1
    out, err = capsys.readouterr()
    assert out.splitlines() == [
        "Chromium  NOT FOUND, and not installed: Debian: apt-get is not on the PATH",
        "Node      NOT FOUND, and not installed: Debian: apt-get is not on the PATH",
    ]
    assert "DEPYF_BROWSER" in err and "DEPYF_NODE" in err


def test_debian_brings_them(bare: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write = "\n".join(
        f"printf '#!/bin/sh\\necho {said}\\n' > {bare / name}; chmod +x {bare / name}"
        for name, said in (
            ("chromium", "Chromium 151.0.72.4 built on Debian"),
            ("nodejs", "v18.20.4"),
            ("npm", "9.2.0"),
        )
    )
    command(bare / "apt-get", f'case "$*" in *"-y install"*)\n{write};; esac')
    assert browser.main([]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first == f"Chromium  {bare / 'chromium'} 151.0.72.4 (installed by Debian)"
    assert second == f"Node      {bare / 'nodejs'} 18.20.4 (was here)"


def test_what_debian_says_is_passed_on(bare: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command(bare / "apt-get", "echo 'E: Unable to locate package chromium'; exit 100")
    assert browser.main(["chromium"]) == 1
    assert "Debian: E: Unable to locate package chromium" in capsys.readouterr().out


def test_who_is_not_root_reads_the_command(
    bare: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    command(bare / "apt-get", "exit 0")
    assert browser.main(["node"]) == 1
    assert "not root: apt-get install nodejs npm" in capsys.readouterr().out


def test_a_program_that_is_named_or_too_old(
    bare: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command(bare / "npm", "echo 9.2.0")
    command(bare / "node", "echo v16.20.0")
    assert browser.PROGRAMS["node"].find() is None
    command(bare / "newer", "echo v22.1.0")
    monkeypatch.setenv("DEPYF_NODE", str(bare / "newer"))
    assert browser.PROGRAMS["node"].find() == bare / "newer"
    monkeypatch.setenv("DEPYF_BROWSER", str(bare / "none"))
    assert browser.main(["chromium"]) == 1
    assert f"DEPYF_BROWSER={bare / 'none'} is not a program that starts" in capsys.readouterr().out


def test_names_that_are_none(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        browser.main(["firefox"])
    assert "neither chromium nor node: firefox" in capsys.readouterr().err


def test_a_missing_browser_is_skipped_counted_and_named(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(needs.REQUIRE_BROWSER, raising=False)
    with pytest.raises(pytest.skip.Exception, match=r"no Chromium on this machine .make browser.") as skipped:
        needs.need_program("chromium")
    assert needs.lacking_program(f"('a.py', 3, 'Skipped: {skipped.value}')") == "Chromium"
    assert needs.lacking_program("no Python 3.8 on this machine (make pythons)") == ""
    counted = Counter({"Chromium": 2})
    assert needs.summary_of_programs(counted) == "not on this machine: Chromium (2 skipped) (make browser)"
    assert needs.summary_of_programs(Counter()) == ""


def test_a_missing_browser_fails_where_it_is_required(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(needs.REQUIRE_BROWSER, "1")
    with pytest.raises(pytest.fail.Exception, match="no Chromium on this machine"):
        needs.need_program("chromium")
