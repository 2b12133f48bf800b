"""Logs in an object store."""

from __future__ import annotations

from pathlib import Path

import pytest

from depyf.cli import main
from depyf.cli.exit_status import ExitStatus
from depyf.cli.from_dumps.remote_logs import url_of
from depyf.run.store.loading import load
from trace_logs import small_log

fsspec = pytest.importorskip("fsspec")


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    memory = fsspec.filesystem("memory")
    for name in ("a", "b"):
        with memory.open(f"/runs/night/dedicated_log_torch_trace_{name}.log", "w") as file:
            file.write(small_log("/p/train.py", hour=2 if name == "b" else 1).text)
    with memory.open("/runs/night/model.pt", "w") as file:
        file.write("large")
    return "memory://runs/night"


def test_commands_read_it(store: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["open", store, "-o", "dump"]) == 0
    assert load(Path("dump")).compilations == 2
    assert main(["index", store]) == 0 and (tmp_path / "night.opened" / "index.md").exists()
    capsys.readouterr()
    assert main(["doctor", store]) == ExitStatus.UNPROVEN
    assert "Fix first:\n1. " in capsys.readouterr().out
    assert main(["diff", store, f"{store}/dedicated_log_torch_trace_a.log"]) == 0
    assert main(["gallery", store]) == 0 and (tmp_path / "night.gallery" / "index.md").exists()
    assert not list(tmp_path.glob("memory*"))


def test_a_folder_by_its_address(store: str, tmp_path: Path) -> None:
    small_log("/p/train.py").write(tmp_path / "logs" / "a.log")
    assert main(["open", f"file://{tmp_path}/logs", "-o", "dump"]) == 0


@pytest.mark.parametrize("url", ["memory://nothing/here", "none://a/b"])
def test_what_is_not_there(url: str, store: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", url]) == ExitStatus.UNREADABLE
    assert f"depyf: {url} cannot be read" in capsys.readouterr().err


def test_addresses() -> None:
    assert url_of(Path("s3://bucket/a/b")) == "s3://bucket/a/b"
    assert url_of(Path("file:///tmp/x")) == "file:///tmp/x"
    assert not url_of(Path("C:/logs")) and not url_of(Path("logs")) and not url_of(Path("a:b/c"))
