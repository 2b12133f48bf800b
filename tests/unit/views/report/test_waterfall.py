"""Spans nest by their times; whatever a file of another says is no error."""

from __future__ import annotations

import pytest

from depyf.run.records import CompileKey
from depyf.views.report.dump_view import DumpView
from depyf.views.report.waterfall import spans_of
from made_dumps import entry, made_dump


def phases(folder, *items):
    functions = [{"function": "f", "from": "a.py:1", "entries": [entry("0/0")]}]
    view = DumpView(made_dump(folder, {"functions": functions}, timings__json={"phases": {"0_0": list(items)}}))
    return spans_of(view), view.missing[1:]


def test_inner_phases_are_deeper(tmp_path):
    found, missing = phases(
        tmp_path, {"name": "a", "start": 0.0, "seconds": 3.0}, {"name": "b", "start": 0.0, "seconds": 1.0},
        {"name": "c", "start": 1.0, "seconds": 2.0}, {"name": "d", "start": 3.5, "seconds": 1.0},
        {"name": "t", "start": 0.5, "seconds": 1.0, "thread": 1},
    )  # fmt: skip
    assert [(span.name, span.depth, span.thread) for span in found[CompileKey(0, "0/0")]] == [
        ("a", 0, 0), ("b", 1, 0), ("t", 0, 1), ("c", 1, 0), ("d", 0, 0),
    ]  # fmt: skip
    assert missing == []


def test_what_is_no_stretch_of_time_is_left_out(tmp_path):
    endless = {"name": "x", "start": 0.0, "seconds": float("inf")}
    late = {"name": "x", "start": 1e308, "seconds": 1.0}
    assert phases(tmp_path, {"name": "x", "start": 1.0, "seconds": -1.0}, endless, late) == ({}, [])


@pytest.mark.parametrize("item", [3, {"name": 3, "start": 1.0, "seconds": 1.0}, {"name": "x", "start": "soon", "seconds": 1.0}, {"name": "x", "start": 10**400, "seconds": 1.0}])  # fmt: skip
def test_damaged_times_are_told(tmp_path, item):
    found, missing = phases(tmp_path, item)
    assert found == {} and ["timings.json" in line for line in missing] == [True]
