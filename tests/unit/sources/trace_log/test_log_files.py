"""Which files are logs, and of which run."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pytest

from depyf.errors import DepyfError
from depyf.sources.trace_log.log_files import NoLogError, find_logs, has_log
from trace_logs import TraceLog, small_log


def test_the_latest_of_two_runs(tmp_path: Path) -> None:
    small_log("/p/a.py", hour=3).write(tmp_path / "dedicated_log_torch_trace_b.log")
    small_log("/p/a.py", hour=2).write(tmp_path / "dedicated_log_torch_trace_c.log")
    found = find_logs(tmp_path)
    assert [log.path.name for log in found.logs.values()] == ["dedicated_log_torch_trace_b.log"]
    assert [log.path.name for log in found.others] == ["dedicated_log_torch_trace_c.log"]


def test_ranks(tmp_path: Path) -> None:
    for rank in (10, 2):
        small_log("/p/a.py").write(tmp_path / f"dedicated_log_torch_trace_rank_{rank}_x.log")
    small_log("/p/a.py", hour=0).write(tmp_path / "dedicated_log_torch_trace_rank_2_old.log")
    small_log("/p/a.py").write(tmp_path / "dedicated_log_torch_trace_launcher.log")
    (tmp_path / "stdout.log").write_text("an epoch\n")
    found = find_logs(tmp_path)
    assert list(found.logs) == [2, 10]
    assert sorted(log.path.name for log in found.others) == [
        "dedicated_log_torch_trace_launcher.log", "dedicated_log_torch_trace_rank_2_old.log"
    ]  # fmt: skip


def test_a_rank_that_only_records_tell(tmp_path: Path) -> None:
    log = TraceLog()
    log.add({"dynamo_start": {"stack": []}, "rank": 5})
    assert list(find_logs(log.write(tmp_path / "a.log")).logs) == [5]


def test_compressed(tmp_path: Path) -> None:
    data = gzip.compress(small_log("/p/a.py").text.encode())
    (tmp_path / "a.log.gz").write_bytes(data)
    (log,) = find_logs(tmp_path).logs.values()
    with log.records() as lines:
        whole = len(list(lines))
    (tmp_path / "a.log.gz").write_bytes(data[: len(data) // 2])
    (log,) = find_logs(tmp_path).logs.values()
    with log.records() as lines:
        assert 0 < len(list(lines)) < whole
    assert any("damaged" in fault for fault in lines.faults)


def test_what_tlparse_made(tmp_path: Path) -> None:
    (tmp_path / "payloads").mkdir()
    (tmp_path / "payloads" / "1.txt").write_text("class GraphModule: ...")
    (tmp_path / "payloads" / "link.txt").symlink_to("/etc/passwd")
    names = ["payloads/1.txt", "payloads/link.txt", "../../etc/passwd", "/etc/passwd", "payloads/none.txt"]
    records = [
        {"dynamo_output_graph": {}, "frame_id": 0, "frame_compile_id": 0, "has_payload": "x", "payload_filename": name}
        for name in names
    ]
    lines = [{"string_table": ["/p/a.py", None]}, *records]
    (tmp_path / "raw.jsonl").write_text("\n".join(map(json.dumps, lines)) + "\n")
    (log,) = find_logs(tmp_path).logs.values()
    with log.records() as found:
        payloads = [record.payload for record in found if "dynamo_output_graph" in record.metadata]
    assert payloads == ["class GraphModule: ..."]
    assert found.faults["records whose payload is not there"] == 4


def test_neither(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text("V1129 01:00:00 nothing of torch\n")
    with pytest.raises(NoLogError, match="no log of torch"):
        find_logs(tmp_path)
    with pytest.raises(NoLogError):
        find_logs(tmp_path / "a.log")
    with pytest.raises(DepyfError, match="No such file"):
        find_logs(tmp_path / "nothing")
    assert not has_log(tmp_path) and not has_log(tmp_path / "nothing")


def test_links_and_devices_are_no_logs(tmp_path: Path) -> None:
    log = small_log("/p/a.py").write(tmp_path / "elsewhere" / "a.log")
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "link.log").symlink_to(log)
    os.mkfifo(folder / "pipe.log")
    assert not has_log(folder)
    with pytest.raises(DepyfError, match="no ordinary file"):
        find_logs(folder / "pipe.log")
