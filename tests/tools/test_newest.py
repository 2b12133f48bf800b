"""``tools/torch/newest.py``: which torch, and which tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools import ROOT
from tools.torch import torch_matrix
from tools.torch.newest import SHARE, main, newest
from tools.torch.torch_matrix import MATRIX


def test_the_newest_by_number() -> None:
    assert newest() in MATRIX and newest() != "2.6"


def test_the_share_is_there() -> None:
    assert all((ROOT / "tests/torch" / name).is_file() for name in SHARE)
    assert len({name.partition("/")[0] for name in SHARE}) >= 6


def test_the_environment_stays_in_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked for alone, nothing runs; the tests run by its interpreter, and their end is this command's."""
    asked: list[Path] = []
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho 2.99.0 3.99.0 $@\nexit 3\n")
    python.chmod(0o755)
    monkeypatch.setattr(torch_matrix, "environment", lambda folder, torch, log: asked.append(folder) or python)
    monkeypatch.setattr(torch_matrix, "bring_headers", lambda python, torch: None)
    assert main(["--folder", str(tmp_path / "kept"), "--only-environment"]) == 0
    assert asked == [tmp_path / "kept"]
    assert main(["--folder", str(tmp_path / "kept")]) == 3


def test_none_can_be_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """pip's last words are told, and the status is not 0."""

    def environment(folder: Path, torch: str, log: Path) -> None:
        log.write_text("ERROR: no matching distribution")

    monkeypatch.setattr(torch_matrix, "environment", environment)
    with pytest.raises(SystemExit, match="no matching distribution"):
        main(["--folder", str(tmp_path)])
