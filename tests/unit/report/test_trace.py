"""The Chrome trace: spans in microseconds, ranks as processes on one clock."""

from __future__ import annotations

import json

import pytest

from depyf.dump.files.reading import DumpError
from depyf.report.dump_view import DumpView
from depyf.report.trace import trace_text, write_trace
from made_dumps import entry, made_dump

FUNCTIONS = {"functions": [{"function": "f", "from": "a.py:1", "entries": [entry("0/0")]}]}


def timings(began):
    return {"began": began, "phases": {"0_0": [{"name": "dynamo", "start": 1.0, "seconds": 0.5}]}}


def test_ranks_share_a_clock(tmp_path):
    made_dump(tmp_path / "rank_0", FUNCTIONS, timings__json=timings(100.0))
    made_dump(tmp_path / "rank_1", FUNCTIONS, timings__json=timings(102.0))
    events = json.loads(trace_text(DumpView(tmp_path)))["traceEvents"]
    assert [(e["pid"], e["ts"], e["dur"], e["name"]) for e in events if e["ph"] == "X"] == [
        (0, 1_000_000, 500_000, "f [0/0]"), (1, 3_000_000, 500_000, "f [0/0]"),
    ]  # fmt: skip
    assert [e["args"]["name"] for e in events if e["name"] == "process_name"] == ["rank 0", "rank 1"]


def test_a_dump_without_times_is_an_error_and_writes_nothing(tmp_path):
    folder = made_dump(tmp_path / "dump", FUNCTIONS)
    with pytest.raises(DumpError, match="no times"):
        write_trace(folder, tmp_path / "trace.json")
    assert not (tmp_path / "trace.json").exists()
