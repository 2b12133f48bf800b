"""Seconds by line: what only leads to another line is left out, and loops never are."""

from __future__ import annotations

from depyf.run.bill.traced_calls import TracedCall, traced_lines
from depyf.run.records import CompileKey
from depyf.run.run import Run, TimesRecord
from depyf.views.pages.bill.compile_time import costly_lines

TORCH = "/x/site-packages/torch/nn/modules/linear.py"
WRAPPED = (
    TracedCall(0, "program", "a.py", 1, 0, 1, 10.0),
    TracedCall(1, "wrapper", "b.py", 1, 5, 1, 10.0),
    TracedCall(2, "Net.forward", "a.py", 20, 3, 1, 9.8),
    TracedCall(3, "Block.forward", "a.py", 40, 22, 12, 6.0),
    TracedCall(4, "Linear.forward", TORCH, 130, 41, 12, 5.8),
    TracedCall(3, "head", "a.py", 60, 24, 1, 3.0),
    TracedCall(4, "Linear.forward", TORCH, 130, 61, 1, 1.0),
)


def lines(*trees):
    return {(line.file, line.line): line for line in traced_lines(trees)}


def run(*trees):
    times = tuple(TimesRecord(CompileKey(0, f"{n}/0"), traced=tree) for n, tree in enumerate(trees))
    return Run("2.13.0", "3.11", times=times)


def test_a_line_counts_what_it_calls():
    found = lines(WRAPPED)
    assert found["a.py", 22].seconds == 6.0 and found["a.py", 22].calls == 12 and found["a.py", 22].repeated
    assert found["b.py", 3].called == "Net.forward" and found["b.py", 3].passed_on == 6.0
    assert ("a.py", 0) not in found  # the function itself has no line of its own


def test_wrappers_and_roots_are_left_out():
    assert [(line.line, line.seconds) for line in costly_lines(run(WRAPPED))] == [
        (22, 6.0), (41, 5.8), (24, 3.0), (61, 1.0),
    ]  # fmt: skip


def test_several_compilations_are_summed():
    assert lines(WRAPPED, WRAPPED)["a.py", 24].seconds == 6.0


def test_a_line_within_itself_counts_once():
    tree = (
        TracedCall(0, "f", "a.py", 1, 0, 1, 3.0), TracedCall(1, "g", "a.py", 4, 2, 1, 3.0),
        TracedCall(2, "g", "a.py", 4, 5, 1, 2.0), TracedCall(3, "g", "a.py", 4, 5, 1, 1.0),
    )  # fmt: skip
    assert lines(tree)["a.py", 5].seconds == 2.0


def test_where_all_lead_on_they_are_shown():
    assert [line.line for line in costly_lines(run(WRAPPED[:3]))] == [5, 3]
