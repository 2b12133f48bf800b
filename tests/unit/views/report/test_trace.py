"""The Chrome trace: spans in microseconds, ranks as processes on one clock."""

from __future__ import annotations

import json

import pytest

from depyf.run.files.reading import DumpError
from depyf.views.report.dump_view import DumpView
from depyf.views.report.trace import trace_text, write_trace
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


def test_times_that_cannot_be_are_left_out(tmp_path):
    made_dump(tmp_path / "rank_0", FUNCTIONS, timings__json=timings(float("inf")))
    made_dump(tmp_path / "rank_1", FUNCTIONS, timings__json=timings(0.0))
    events = json.loads(trace_text(DumpView(tmp_path)))["traceEvents"]
    assert [event["ts"] for event in events if event["ph"] == "X"] == [1_000_000, 1_000_000]


def test_a_dump_without_times_is_an_error_and_writes_nothing(tmp_path):
    folder = made_dump(tmp_path / "dump", FUNCTIONS)
    with pytest.raises(DumpError, match="no times"):
        write_trace(folder, tmp_path / "trace.json")
    assert not (tmp_path / "trace.json").exists()


def checked(text: str) -> list[dict]:
    """The events of a trace, after all that the Trace Event Format asks of them."""
    page = json.loads(text)
    assert set(page) == {"displayTimeUnit", "traceEvents"} and page["displayTimeUnit"] in ("ms", "ns")
    threads: dict[tuple[int, int], list[int]] = {}
    named = set()
    for event in page["traceEvents"]:
        assert all(isinstance(event[key], int) for key in ("pid", "tid")) and isinstance(event["name"], str)
        where = event["pid"], event["tid"]
        if event["ph"] == "M":
            wanted = {"process_name": "name", "thread_name": "name", "process_sort_index": "sort_index"}
            assert set(event) == {"name", "ph", "pid", "tid", "args"} and set(event["args"]) == {wanted[event["name"]]}
            named.add((event["name"], where if event["name"] == "thread_name" else event["pid"]))
            continue
        assert set(event) == {"name", "cat", "ph", "ts", "dur", "pid", "tid", "args"} and event["ph"] == "X"
        assert isinstance(event["ts"], int) and isinstance(event["dur"], int) and min(event["ts"], event["dur"]) >= 0
        ends = threads.setdefault(where, [])
        while ends and ends[-1] <= event["ts"]:
            ends.pop()
        assert not ends or event["ts"] + event["dur"] <= ends[-1], f"{event} leaves what it stands in"
        ends.append(event["ts"] + event["dur"])
    for where in threads:
        assert {("thread_name", where), ("process_name", where[0])} <= named
    return page["traceEvents"]


def test_events_are_a_stack_for_each_thread(tmp_path):
    phases = {
        "0_0": [
            {"name": "dynamo", "start": 0.0000014, "seconds": 0.0009996},
            {"name": "backend", "start": 0.0004, "seconds": 0.0006016},
            {"name": "inductor", "start": 0.0007, "seconds": 0.0003015},
            {"name": "helper", "start": 0.0001, "seconds": 0.01, "thread": 1},
        ],
        "1_0": [
            {"name": "dynamo", "start": 0.0005, "seconds": 0.0001},
            {"name": "dynamo", "start": 0.002, "seconds": 0.1},
        ],
    }
    functions = {"functions": [{"function": "f", "from": "a.py:1", "entries": [entry("0/0"), entry("1/0")]}]}
    for rank in range(2):
        made_dump(tmp_path / f"rank_{rank}", functions, timings__json={"began": 5.0 + rank, "phases": phases})
    events = checked(trace_text(DumpView(tmp_path)))
    assert len([event for event in events if event["ph"] == "X"]) == 12
