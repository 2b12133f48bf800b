"""A run that goes on is followed: each compilation once, when it has ended, with its cause."""

from __future__ import annotations

from pathlib import Path

import pytest

from depyf.actions.following.follow_folder import FollowedFolder, follow
from depyf.cli import main
from depyf.cli.exit_status import ExitStatus
from depyf.errors import DepyfError
from depyf.run.store.lines import run_page
from depyf.run.store.loading import load
from trace_logs import small_log

CAUSE = "because `n` is a constant of the compiled code (2, 3), {at}:2 `return x * n`"


@pytest.fixture
def log(tmp_path: Path) -> tuple[Path, str]:
    program = tmp_path / "train.py"
    program.write_text("def f(x, n):\n    return x * n\n")
    return tmp_path / "logs" / "dedicated_log_torch_trace_a.log", small_log(str(program)).text


def lines_of(followed: FollowedFolder) -> list[str]:
    return list(followed.more())


@pytest.mark.parametrize("step", [1000, 77])
def test_a_log_as_it_grows(log: tuple[Path, str], step: int) -> None:
    path, text = log
    path.parent.mkdir()
    followed, told, ended = FollowedFolder(path.parent), [], []
    assert followed.goes_on and lines_of(followed) == []
    data = text.encode()
    for at in range(0, len(data) + step, step):
        with path.open("ab") as file:
            file.write(data[at : at + step])
        told += (new := lines_of(followed))
        ended += [at] if new else []
    assert [line.split()[0] for line in told if not line.startswith(" ")] == ["0/0", "0/1"]
    assert any(line.strip().endswith(CAUSE.format(at=path.parents[1] / "train.py")) for line in told), told
    assert any("graph break: " in line for line in told)
    assert len(ended) == 2, "each is told when it has ended, and not before"
    assert lines_of(followed) == []


def test_a_log_of_a_rank_that_comes_later(log: tuple[Path, str]) -> None:
    path, text = log
    folder = path.parent
    folder.mkdir()
    followed = FollowedFolder(folder)
    for rank in (0, 3):
        (folder / f"dedicated_log_torch_trace_rank_{rank}_x.log").write_text(text)
        assert [line.split()[:2] for line in lines_of(followed) if not line.startswith(" ")] == [
            ["rank", str(rank)]
        ] * 2


def test_a_journal(log: tuple[Path, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, text = log
    path.parent.mkdir()
    path.write_text(text)
    assert main(["open", str(path), "-o", str(tmp_path / "dump")]) == 0
    run = load(tmp_path / "dump")
    page = run_page(run).encode()
    going = tmp_path / "going"
    going.mkdir()
    followed, told = FollowedFolder(going), []
    for at in range(0, len(page), 500):
        with (going / "run.jsonl").open("ab") as file:
            file.write(page[at : at + 500])
        told += lines_of(followed)
    told += lines_of(followed)
    assert [line.split()[0] for line in told if not line.startswith(" ")] == ["0/0", "0/1"]
    assert any("because `n` is a constant of the compiled code (2, 3)" in line for line in told)
    assert not followed.goes_on
    capsys.readouterr()
    assert main(["index", "--follow", str(tmp_path / "dump")]) == 0
    shown = capsys.readouterr().out
    assert "0/1   f (" in shown and "compiled again in 0.5 s" in shown


def test_a_damaged_journal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "run.jsonl").write_text("{}\n")
    with pytest.raises(DepyfError, match="damaged"):
        follow(tmp_path, print, lambda followed: False)
    assert main(["index", "--follow", str(tmp_path)]) == ExitStatus.UNREADABLE
    assert "is damaged" in capsys.readouterr().err


def test_a_packed_log(log: tuple[Path, str]) -> None:
    import gzip

    path, text = log
    path.parent.mkdir()
    path.with_suffix(".log.gz").write_bytes(gzip.compress(text.encode()))
    with pytest.raises(DepyfError, match="does not grow"):
        lines_of(FollowedFolder(path.parent))
