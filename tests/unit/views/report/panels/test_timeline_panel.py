"""Rows in the order in which compilations began, with what the caches had."""

from __future__ import annotations

from depyf.views.report.dump_view import DumpView
from depyf.views.report.panels.timeline_panel import timeline_panel
from made_dumps import entry, made_dump


def test_rows_and_spans(tmp_path):
    caches = [{"cache": "FX graph", "status": "hit", "reason": ""}]
    functions = [{"function": "f", "from": "a.py:1", "entries": [entry("0/0"), entry("0/1", caches=caches)]}]
    phases = {
        "unknown": [{"name": "compile_file", "start": 0.1, "seconds": 1, "thread": 1}],
        "0_1": [{"name": "dynamo", "start": 5.0, "seconds": 1.0}],
        "0_0": [{"name": "dynamo", "start": 1.0, "seconds": 3.0}, {"name": "backend", "start": 2.0, "seconds": 1.0}],
    }
    folder = made_dump(tmp_path, {"functions": functions}, timings__json={"began": 9.0, "phases": phases})
    data = timeline_panel(DumpView(folder), None)
    assert [(row["id"], row["start"], row["end"], row["spent"]) for row in data["rows"]] == [
        ("0/0", 1.0, 4.0, 3.0), ("0/1", 5.0, 6.0, 1.0), ("", 0.1, 1.1, 0),
    ]  # fmt: skip
    assert data["rows"][1]["caches"] == [["FX graph", "hit"]]
    assert [data["names"][number] for number, *_ in data["rows"][0]["spans"]] == ["dynamo", "backend"]


def test_a_dump_without_phases_has_no_panel(tmp_path):
    assert timeline_panel(DumpView(made_dump(tmp_path, {}, timings__json={"seconds": {}})), None) is None
