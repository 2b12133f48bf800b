"""``timings.json``: one line a phase, in the order in which they began."""

from __future__ import annotations

import json

from depyf.run.files.timings import timings_page
from depyf.run.phase_times import PhaseTime
from depyf.run.records import CompileKey
from depyf.run.run import TimesRecord

FIRST, SECOND = CompileKey(0, "0/0"), CompileKey(0, "0/1")


def test_phases_stand_in_order_under_their_compile_id():
    first = (PhaseTime(2.0, 1.0, "x", 1), PhaseTime(1.0, 2.5, "a"))
    times = [
        TimesRecord(SECOND, phases=(PhaseTime(3.0, 1.0, "b"),)),
        TimesRecord(FIRST, (("gc_time", 0.5), ("duration", 2.0)), first),
    ]
    text = timings_page(times, 99.0)
    page = json.loads(text)
    assert page["seconds"] == {"0_0": {"duration": 2.0, "gc_time": 0.5}}
    assert page["began"] == 99.0
    assert list(page["phases"]) == ["0_0", "0_1"]
    assert page["phases"]["0_0"] == [
        {"name": "a", "start": 1.0, "seconds": 2.5},
        {"name": "x", "start": 2.0, "seconds": 1.0, "thread": 1},
    ]
    assert '   {"name": "a", "start": 1.0, "seconds": 2.5},\n' in text


def test_a_run_without_compilations_is_a_page_too():
    assert json.loads(timings_page(())) == {"seconds": {}, "began": 0.0, "phases": {}}
