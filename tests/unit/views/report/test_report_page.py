"""A page is made of a dump that holds almost nothing, and never half-written."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from depyf.run.files.reading import DumpError
from depyf.views.report.page_assets import script
from depyf.views.report.report_page import render, write_report


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    folder = tmp_path / "dump"
    folder.mkdir()
    (folder / "full_code_for_f_0.py").write_text("def f(x):\n    return x + 1\n")
    page = {
        "format": 1,
        "torch": "2.13.0",
        "python": "3.11",
        "files": [{"file": "full_code_for_f_0.py", "kind": "full_code"}],
    }
    (folder / "manifest.json").write_text(json.dumps(page))
    return folder


def test_same_dump_same_page(dump: Path) -> None:
    assert render(dump) == render(dump)


def test_failed_write_leaves_what_was_there(dump: Path, tmp_path: Path) -> None:
    target = tmp_path / "folder"
    target.mkdir()
    with pytest.raises(DumpError, match="cannot be written"):
        write_report(dump, target)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["dump", "folder"]


def test_page_has_the_mode_of_other_files_of_the_user(dump: Path, tmp_path: Path) -> None:
    before = os.umask(0o077)  # what a user has who shows files to nobody else
    try:
        (tmp_path / "other").touch()
        write_report(dump, tmp_path / "page.html")
    finally:
        os.umask(before)
    assert (tmp_path / "page.html").stat().st_mode == (tmp_path / "other").stat().st_mode
    assert sorted(path.name for path in tmp_path.iterdir()) == ["dump", "other", "page.html"]


def test_missing_file_is_said(dump: Path) -> None:
    (dump / "full_code_for_f_0.py").unlink()
    assert "Content-Security-Policy" in render(dump)


def test_script_is_one_scope() -> None:
    assert "import {" not in script() and "\nexport " not in script()
