"""Spans nest by their times; whatever a file of another says is no error."""

from __future__ import annotations

from depyf.views.report.dump_view import DumpView
from depyf.views.report.waterfall import spans_of
from made_dumps import made_dump


def phases(folder, *items):
    return spans_of(DumpView(made_dump(folder, {}, timings__json={"phases": {"0_0": list(items)}})))


def test_inner_phases_are_deeper(tmp_path):
    found = phases(
        tmp_path, {"name": "a", "start": 0.0, "seconds": 3.0}, {"name": "b", "start": 0.0, "seconds": 1.0},
        {"name": "c", "start": 1.0, "seconds": 2.0}, {"name": "d", "start": 3.5, "seconds": 1.0},
        {"name": "t", "start": 0.5, "seconds": 1.0, "thread": 1},
    )  # fmt: skip
    assert [(span.name, span.depth, span.thread) for span in found["0_0"]] == [
        ("a", 0, 0), ("b", 1, 0), ("t", 0, 1), ("c", 1, 0), ("d", 0, 0),
    ]  # fmt: skip


def test_what_is_no_phase_is_left_out(tmp_path):
    assert (
        phases(tmp_path, 3, {"name": 3, "start": 1}, {"name": "x", "start": "soon"}, {"name": "x", "seconds": -1}) == {}
    )
    assert spans_of(DumpView(made_dump(tmp_path, {}, timings__json=[]))) == {}
