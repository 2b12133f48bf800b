"""A program that cannot be run, and a number that makes no sense: what is wrong is named, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from depyf.cli import main


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("empty.py").write_text("", encoding="utf-8")
    Path("folder").mkdir()


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        ("doctor --timeout 0 empty.py", 2, "--timeout is 0: it must be positive (seconds)"),
        ("doctor --timeout nan empty.py", 2, "--timeout is nan: it must be positive (seconds)"),
        ("doctor --most -1 empty.py", 2, "--most is -1: it must be 0 or more"),
        ("doctor folder", 4, "cannot read folder: the folder has no __main__.py"),
        ("doctor gone.py", 4, "cannot read gone.py: there is no such script"),
        ("doctor --fix gone.py", 4, "cannot read gone.py: there is no such script"),
        ("check --timeout -1 empty.py", 2, "--timeout is -1: it must be positive (seconds)"),
        ("check gone.py", 4, "cannot read gone.py: there is no such script, dump or log"),
        ("check folder", 4, "cannot read folder: the folder has no __main__.py, and holds no dump"),
        ("check empty.py", 4, "there is no budget in"),
        ("run --check-every 0 empty.py", 4, "--check-every is 0: it must be positive"),
        ("run --check-seconds 0 empty.py", 4, "--check-seconds is 0: it must be positive"),
    ],
)
def test_the_message_names_what_is_wrong(
    arguments: str, status: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments.split()) == status
    assert capsys.readouterr().err.startswith(f"depyf: {said}")
