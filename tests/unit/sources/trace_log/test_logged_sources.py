"""Only source of a program is read, whatever a log names."""

from __future__ import annotations

import linecache
import os
from pathlib import Path

import pytest

from depyf.sources.trace_log.lines_at_hand import ProgramLines


def test_lines_while_the_block_lasts(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text("x = 1\n")
    os.utime(path, (1, 1))
    before = linecache.updatecache, dict(linecache.cache)
    lines = ProgramLines(100.0)
    with lines.shown():
        assert linecache.getline(str(path), 1) == "x = 1\n"
        path.write_text("x = 2\n")
        assert linecache.getline(str(path), 1) == "x = 1\n"
        linecache.checkcache()
        assert linecache.getline(str(path), 1) == "x = 1\n"
    assert (linecache.updatecache, dict(linecache.cache)) == before


@pytest.mark.parametrize(
    "name", ["/dev/zero", "/etc/passwd", "/proc/self/environ", "relative.py", "", "a\0.py", "/x" * 4000 + ".py"]
)
def test_other_files_are_not_read(name: str) -> None:
    with ProgramLines(0.0).shown():
        assert linecache.getlines(name) == []


def test_pipes_links_to_them_and_huge_files(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "link.py").symlink_to("/dev/zero")
    with open(tmp_path / "huge.py", "wb") as file:
        file.truncate(1 << 30)
    (tmp_path / "latin.py").write_bytes(b"# coding: no-such-one\nx\n")
    lines = ProgramLines(0.0)
    assert [lines.lines(str(tmp_path / f"{name}.py")) for name in ("pipe", "link", "huge", "latin")] == [[], [], [], []]
