"""The scoreboard: what counts as equal, as a plain failure, as silently wrong."""

from __future__ import annotations

import py_compile
import sys
from pathlib import Path

import pytest

from tools.bench import scoreboard

SOURCE = "def f(a, b):\n    if a > b:\n        return a - b\n    return b\n"
HOST = f"{sys.version_info[0]}.{sys.version_info[1]}"


@pytest.fixture
def pyc(tmp_path: Path) -> Path:
    source = tmp_path / "m.py"
    source.write_text(SOURCE)
    return Path(py_compile.compile(str(source), str(tmp_path / "m.pyc"), doraise=True))


@pytest.mark.parametrize(
    ("status", "text", "verdict"),
    [
        (0, SOURCE, "equal"),
        (1, SOURCE, "equal"),
        (0, "", "plain failure"),
        (124, "", "plain failure"),
        (0, "def f(a, b:\n", "plain failure"),
        (0, SOURCE.replace("a - b", "b - a"), "silently wrong"),
        (1, SOURCE.replace("a - b", "b - a"), "plain failure"),
        (0, SOURCE.replace("a - b", "b - a") + "# WARNING: Decompyle incomplete\n", "plain failure"),
        (0, "def f(a, b):\n    pass  # unrecovered body\n", "plain failure"),
        (0, "# Decompiled by a tool\n" + SOURCE.replace("a - b", "'error'"), "silently wrong"),
    ],
)
def test_judged(status: int, text: str, verdict: str, pyc: Path) -> None:
    assert scoreboard.judged(status, text, pyc)[0] == verdict


def test_run_beside_the_original(pyc: Path) -> None:
    assert not scoreboard.differs_when_run(SOURCE, pyc, HOST)
    assert scoreboard.differs_when_run(SOURCE.replace("a - b", "b - a"), pyc, HOST)


def test_a_docstring_alone() -> None:
    assert scoreboard.of_docstring("the docstring differs")
    assert not scoreboard.of_docstring("original RETURN and recompiled JUMP: they do different things")


def test_page() -> None:
    """The page in the documentation is what the tool writes: its head and its end."""
    text = (scoreboard.ROOT / "docs" / "explanation" / "scoreboard.md").read_text(encoding="utf-8")
    head, _, _ = scoreboard.page([], 24, scoreboard.NOTES).partition("## What could")
    day = text.split("\n")[2].split(": ")[0]
    assert text.startswith(head.replace(head.split("\n")[2].split(": ")[0], day).rstrip("\n"))
    assert text.endswith(scoreboard.REPEAT)
