"""Each rank of a distributed run writes a folder of its own."""

from __future__ import annotations

import pytest
import torch
from dumps import check_dump

import depyf

pytestmark = pytest.mark.torch


@pytest.mark.parametrize("rank", ["0", "3"])
def test_rank_folder(rank, tmp_path, monkeypatch):
    monkeypatch.setenv("RANK", rank)
    monkeypatch.setenv("WORLD_SIZE", "4")
    with depyf.prepare_debug(tmp_path):
        torch.compile(lambda x: x + 1, backend="eager")(torch.ones(2))
    assert [path.name for path in tmp_path.iterdir()] == [f"rank_{rank}"]
    check_dump(tmp_path / f"rank_{rank}")


def test_no_launcher(tmp_path, monkeypatch):
    monkeypatch.setenv("RANK", "1")  # some other program's variable: no launcher sets it alone
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    with depyf.prepare_debug(tmp_path):
        torch.compile(lambda x: x + 1, backend="eager")(torch.ones(2))
    check_dump(tmp_path)
