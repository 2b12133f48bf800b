"""``tools/torch/newest.py``: which torch, and which tests."""

from __future__ import annotations

from tools import ROOT
from tools.torch.newest import SHARE, arguments, newest
from tools.torch.torch_matrix import MATRIX


def test_the_newest_by_number() -> None:
    assert newest() in MATRIX and newest() != "2.6"


def test_the_share_is_there() -> None:
    assert all((ROOT / "tests/torch" / name).is_file() for name in SHARE)
    assert len({name.partition("/")[0] for name in SHARE}) >= 6


def test_the_environment_stays_in_its_folder() -> None:
    told = arguments(["--limit", "60"])
    assert told[0] == newest() and "--keep" in told and told[told.index("--folder") + 1].endswith(".venv-newest")
    assert arguments(["--folder", "here"]).count("--folder") == 1
