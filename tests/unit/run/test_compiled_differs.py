"""Calls that were compared with Python, as one observation for each function."""

from __future__ import annotations

from depyf.run.observations.compiled_differs import checked_line, compiled_differs
from depyf.run.places.place import Place
from depyf.run.program_calls.checked_calls import CallDifference, CheckedCalls
from depyf.run.records import CompileKey
from depyf.run.run import Run

HERE = Place("/p.py", 3, "f", "def f(x):")
WRONG = CallDifference("the result", "1", "2", "not the same")


def test_entries_of_one_function_are_one():
    checked = (
        CheckedCalls("f", HERE, CompileKey(0, "0/0"), 4, 2),
        CheckedCalls("f", HERE, CompileKey(0, "0/1"), 3, 2, (WRONG, WRONG), 2, ("the layer is Dynamo",)),
        CheckedCalls("f", HERE, CompileKey(0, "0/2"), 1, 1, (WRONG,), 1),
        CheckedCalls("g", HERE, None, 1, 0, not_compared=("random numbers",)),
    )
    run = Run("2.13", "3.11", checked=checked)
    (found,) = compiled_differs(run)
    assert found.leads and found.cost == "call 2 that its entry served; 5 of 8 calls compared"
    assert found.details == (
        "the result is 2, and Python gives 1", "1 more value differs", "the layer is Dynamo",
        "1 more cache entry differs",
    )  # fmt: skip
    assert checked_line(checked) == (
        "Compared with Python: 5 of 8 calls of 3 cache entries, DIFFERENT in 2; "
        "nothing could be compared of 1 call of 1 other cache entry (random numbers)."
    )
    assert checked_line(checked[:1]) == "Compared with Python: 2 of 4 calls of 1 cache entry, the same."
    assert checked_line(checked[3:]).endswith("nothing could be compared (random numbers).") and checked_line(()) == ""
