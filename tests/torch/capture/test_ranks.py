"""Each rank of a distributed run writes a folder of its own."""

from __future__ import annotations

import pytest
import torch
from dumps import check_dump

import depyf
from depyf.cli import main

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


def test_ranks_of_an_earlier_run_are_left_out(tmp_path, monkeypatch, capsys):
    for rank, count in ((0, 3), (1, 3), (2, 3), (0, 2), (1, 2)):
        monkeypatch.setenv("RANK", str(rank))
        monkeypatch.setenv("WORLD_SIZE", str(count))
        torch._dynamo.reset()
        with depyf.prepare_debug(tmp_path):
            torch.compile(lambda x: x + 1, backend="eager")(torch.ones(2))
    assert check_dump(tmp_path / "rank_0")["ranks"] == 2
    assert main(["merge", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert "2 ranks, each against rank_0" in out and "rank 2: left out, it is of another run" in out
    (tmp_path / "rank_0" / "manifest.json").unlink()  # it died: the other ranks know how many there are
    main(["merge", str(tmp_path)])
    assert "rank 2: left out" in capsys.readouterr().out
