"""Begins and ends of phases become spans, whatever is cut by an exception."""

from __future__ import annotations

from depyf.run.phase_times import PhaseClock, PhaseTime


def event(name, mark, seconds, compile_id="0/0"):
    return {"name": name, "ph": mark, "ts": seconds * 1e6, "args": {"compile_id": compile_id}}


def spans(*events, began=10.0):
    clock = PhaseClock(began)
    return [found for taken, thread in events if (found := clock.take(taken, thread)) is not None]


def test_nested_phases_start_when_they_began():
    found = spans(
        (event("dynamo", "B", 11), 7), (event("backend", "B", 12), 7), (event("backend", "E", 13.5), 7),
        (event("dynamo", "E", 14), 7),
    )  # fmt: skip
    assert found == [("0/0", PhaseTime(2.0, 1.5, "backend")), ("0/0", PhaseTime(1.0, 3.0, "dynamo"))]


def test_what_an_exception_cut_is_dropped_with_its_parent():
    found = spans((event("dynamo", "B", 11), 7), (event("cut", "B", 12), 7), (event("dynamo", "E", 14), 7))
    assert found == [("0/0", PhaseTime(1.0, 3.0, "dynamo"))]
    assert spans((event("cut", "E", 12), 7)) == []


def test_threads_do_not_close_each_other():
    found = spans(
        (event("wait", "B", 11, "None"), 7), (event("wait", "B", 12, "None"), 9), (event("wait", "E", 14, "None"), 9),
        (event("wait", "E", 15, "None"), 7),
    )  # fmt: skip
    assert found == [("", PhaseTime(2.0, 2.0, "wait", 0)), ("", PhaseTime(1.0, 4.0, "wait", 1))]


def test_short_phases_and_other_events_are_left_out():
    assert spans((event("gc", "B", 11), 7), (event("gc", "E", 11.0001), 7)) == []
    assert spans((event("hit", "i", 11), 7), ({"name": "x"}, 7), ({"name": 3, "ph": "E", "ts": "now"}, 7)) == []
