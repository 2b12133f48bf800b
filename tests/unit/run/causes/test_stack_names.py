"""What the program calls the values that wait while a graph breaks."""

from __future__ import annotations

import pytest

from depyf.run.causes.stack_names import _waits_for_rests as waits_for_rests
from depyf.run.causes.stack_names import _words as words
from depyf.run.causes.stack_names import waiting
from depyf.run.places.place import Place
from depyf.run.records import BreakRecord, CodeRecord, FunctionRecord


@pytest.mark.parametrize(
    "line, expression, before",
    (
        ("y = 0.9 * s.avg + 0.1 * x.mean().item()", "x.mean().item()", ["0.9 * s.avg", "0.1"]),
        ("out.append(loss.item())", "loss.item()", ["out.append"]),
        ("return f(a, g(b), x.item(), c)", "x.item()", ["f", "a", "g(b)"]),
        ("if a + b < x.item():", "x.item()", ["a + b"]),
        ("table[k] = values[x.item()]", "x.item()", ["values"]),
        ("return [a, x.item(), b]", "x.item()", ["a"]),
        ("x.item()", "x.item()", []),
        ("f(x.item(), x.item())", "x.item()", []),
        ("no python here", "x.item()", []),
    ),
)
def test_what_waits(line, expression, before):
    assert list(waiting(line, expression)) == before


SOURCE = """\
def f(x, k):
    y = inner(x) * 2
    z = k.get(
        y,
    )
    for t in lookup(y):
        z = z + max(k.get(t), helped(t))
    return z
"""


@pytest.mark.parametrize(
    "line, broke_in, expression",
    (
        (2, "inner", "inner(x)"),
        (3, "K.get", "k.get(y)"),
        (6, "<listcomp>", "lookup(y)"),
        (7, "get", "k.get(t)"),
        (7, "helped_by", ""),
        (9, "inner", ""),
    ),
)
def test_a_break_in_what_a_line_calls(line, broke_in, expression):
    """What goes over the break is what the call returns, not what the break waited for in there."""
    rest = CodeRecord(
        f"torch_dynamo_resume_in_f_at_{line}", "f", "net.py", 1, (), ("___stack0", "k"), (), None, None, (), SOURCE
    )
    broken = BreakRecord("", Place("net.py", 40, broke_in, 'print("x")'), "", "", "", (), "", False, asked="print")
    passed = ["held", "k"]
    assert words(FunctionRecord((0, "1"), rest, ()), passed, (broken,)) == {"___stack0": expression or "held"}


def test_a_rest_that_is_passed_other_rests():
    resumes = ("__resume_at_4_1", "__resume_at_8_2")
    assert waits_for_rests(["[__resume_at_4_1]", "[[held, y]]", "x"], resumes)
    assert not waits_for_rests(["[]", "[]", "x", "y"], resumes)
    assert not waits_for_rests(["[x]", "[]", "__resume_at_4_1"], resumes)
