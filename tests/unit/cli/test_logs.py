"""Commands that are given logs of torch where they take a dump."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from depyf.cli import main
from depyf.cli.exit_status import ExitStatus
from depyf.run.store.loading import load, load_ranks
from trace_logs import small_log


@pytest.fixture
def logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text("def f(x, n):\n    return x * n\n")
    os.utime(tmp_path / "train.py", (1, 1))
    folder = tmp_path / "logs"
    small_log(str(tmp_path / "train.py")).write(folder / "dedicated_log_torch_trace_a.log")
    return folder


def test_open_writes_a_dump(logs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["open", "logs", "-o", "dump"]) == 0
    assert "2 compilations, 1 distinct graph break" in capsys.readouterr().out
    run = load(Path("dump"))
    assert (run.compilations, run.of_log, run.missing) == (2, True, ())
    page = Path("dump/index.md").read_text()
    assert "## Not in a log of torch" in page and "no longer in torch's cache" not in page
    assert Path("dump/__source_of_train_0.py").exists()
    again = {file.name: file.read_bytes() for file in Path("dump").iterdir()}
    assert main(["open", "logs/dedicated_log_torch_trace_a.log", "-o", "dump"]) == 0
    assert {file.name: file.read_bytes() for file in Path("dump").iterdir()} == again


def test_open_leaves_the_files_of_others(logs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("mine").mkdir()
    Path("mine/notes.txt").write_text("mine")
    assert main(["open", "logs", "-o", "mine"]) == ExitStatus.UNREADABLE
    assert "holds other files, such as notes.txt" in capsys.readouterr().err
    assert os.listdir("mine") == ["notes.txt"]


def test_index_and_doctor(logs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["index", "logs"]) == 0
    assert load(Path("logs.opened")).compilations == 2
    capsys.readouterr()
    assert main(["doctor", "logs"]) == ExitStatus.UNPROVEN
    assert "Fix first:\n1. train.py:" in capsys.readouterr().out
    assert main(["doctor", "--json", "logs"]) == ExitStatus.UNPROVEN
    assert json.loads(capsys.readouterr().out)["compilations"] == 2
    assert main(["doctor", "--try", "logs"]) == ExitStatus.USAGE
    assert "there is no program to run" in capsys.readouterr().err


def test_report_and_gallery_go_beside_the_logs(logs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("jinja2")
    before = set(os.listdir(os.environ.get("TMPDIR", "/tmp")))
    assert main(["report", "logs"]) == 0
    assert "f" in (logs / "report.html").read_text()
    assert main(["gallery", "logs"]) == 0
    assert (logs / "gallery" / "index.md").exists()
    assert main(["repro", "logs", "0/0", "-o", "r.py"]) == 0
    left = set(os.listdir(os.environ.get("TMPDIR", "/tmp"))) - before
    assert not [name for name in left if name.startswith("depyf-log-")]


def test_diff_of_logs(logs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", "logs", "logs"]) == 0
    log = small_log(str(logs.parent / "train.py"))
    log.compiled("1/0", str(logs.parent / "train.py"), 5)
    log.write(logs.parent / "other.log")
    assert main(["diff", "logs", "other.log"]) == 1


def test_ranks(logs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for rank in range(2):
        small_log("/p/a.py").write(Path(f"many/dedicated_log_torch_trace_rank_{rank}_x.log"))
    assert main(["open", "many", "-o", "dumps"]) == 0
    assert list(load_ranks(Path("dumps"))) == [0, 1]
    assert "of 2 ranks" in capsys.readouterr().out
    assert main(["merge", "many"]) == 0
    assert "rank 1: the same" in capsys.readouterr().out


def test_two_runs(logs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    small_log("/p/old.py", hour=0).write(logs / "dedicated_log_torch_trace_0.log")
    assert main(["open", "logs", "-o", "dump"]) == 0
    assert "the log of the latest run is shown" in capsys.readouterr().err
    assert any("dedicated_log_torch_trace_0.log" in note for note in load(Path("dump")).notes)


@pytest.mark.parametrize("command", [["report"], ["gallery"], ["merge"], ["diff", "logs"], ["index"], ["open"]])
def test_what_is_neither(logs: Path, command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    Path("nothing").mkdir()
    for name in ("train.py", "nothing", "not_there"):
        assert main([*command, name]) == ExitStatus.UNREADABLE, name
        assert name in capsys.readouterr().err


def test_a_message_names_the_logs(logs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "logs", "--function", "none", "-o", "net"]) != 0
    said = capsys.readouterr().err
    assert "depyf: logs: it holds no function called 'none'" in said and "depyf-log-" not in said
