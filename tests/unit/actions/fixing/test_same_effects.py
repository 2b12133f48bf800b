"""What counts as the same program, beside compilations and breaks."""

from __future__ import annotations

from depyf.actions.doctor.returned_values import first_difference
from depyf.actions.doctor.trial import Measured
from depyf.actions.fixing.fix_program import _each_call_anew
from depyf.actions.fixing.same_effects import (
    MESSAGES,
    WRITTEN,
    RanProgram,
    effects_until_it_failed,
    other_effect,
    unsteady,
    with_path,
)
from depyf.run.run import RunTotals


def ran(calls=None, state=None, printed=b"", problem="", status=0, compilations=1, errors=0):
    measured = Measured(status, RunTotals(compilations, errors=errors), calls=calls or {}, state=state, problem=problem)
    return RanProgram(measured, None, printed)


def number(value, shape=()):
    return {"shape": list(shape), "dtype": "float32", "requires_grad": False, "values": [value]}


def test_each_effect_is_compared():
    one = ran({"f": [[1]]}, {"m.weight": [number(1.0, (1,))], MESSAGES: ["a"]}, b"x\ny\n")
    state = dict(one.measured.state)
    assert other_effect(one, one) == ""
    assert other_effect(one, ran({"f": [[2]]}, state, b"x\ny\n")) == "f, call 1: 2 instead of 1"
    assert other_effect(one, ran({"f": [[1]]}, state, b"x\nz\n")) == "it prints something else: 'z' instead of 'y'"
    assert other_effect(one, ran({"f": [[1]]}, state, b"x\n")).endswith("1 lines instead of 2")
    assert other_effect(one, ran({"f": [[1]]}, {MESSAGES: ["a"]}, b"x\ny\n")) == "m.weight is gone at the end"
    logged = {**state, MESSAGES: []}
    assert "it logs something else: 0 lines instead of 1" in other_effect(one, ran({"f": [[1]]}, logged, b"x\ny\n"))
    heard = other_effect(one, ran({"f": [[1]]}, {**state, WRITTEN: ["a"]}, b"x\ny\n"))
    assert heard == "it writes to standard error something else: 1 lines instead of 0"
    more = ran({"f": [[1]]}, {**state, "new": [1]}, b"x\ny\n")
    assert other_effect(one, more) == "", "an edit may have a name for a value"
    failed = ran({"f": [[1]]}, state, b"x\ny\n", "ValueError: a", 1)
    assert "it ends otherwise" in other_effect(one, failed)
    assert other_effect(failed, ran({"f": [[1]]}, state, b"x\ny\n", "ValueError: b", 1)) == (
        "it ends otherwise: ValueError: b"
    )


def test_numbers_in_lines_are_the_same_but_for_rounding():
    def same(one, other):
        return other_effect(ran(printed=one), ran(printed=other)) == ""

    assert same(b"loss -0.28544872999\n", b"loss -0.285448789596\n") and same(b"0.1234\n", b"0.1235\n")
    assert same(b"1.5e-07\n", b"1.5e-07\n") and same(b"tensor(12.3456)\n", b"tensor(12.3457)\n")
    assert not same(b"0.12\n", b"0.13\n"), "too few digits"
    assert not same(b"12345\n", b"12346\n"), "a whole number"
    assert not same(b"0.1234\n", b"0.1236\n") and not same(b"1.0000001\n", b"-1.0000001\n")
    assert same(b"loss  9.99999, 3\n", b"loss 10.00000, 3\n"), "padded to a width"
    assert not same(b"a 1\n", b"a1\n") and not same(b"loss  9.0\n", b"loss 10.0\n")
    assert not same(b"step 2 1.217\n", b"step 2 1.219\n")
    assert not same(b"1.5000e-07\n", b"1.5000e-06\n") and same(b"1.5000e-07\n", b"1.5001e-07\n")


def test_a_number_may_be_a_tensor_only_where_the_edit_says_so():
    one, other = {"f": [[0.5, number(2.0, (1,))]]}, {"f": [[number(0.5), number(2.0, (1,))]]}
    assert first_difference(one, other) and first_difference(one, other, numbers=True) == ""
    assert first_difference(one, {"f": [[number(0.6), number(2.0, (1,))]]}, numbers=True)
    assert first_difference(one, {"f": [[number(0.5, (1,)), number(2.0, (1,))]]}, numbers=True), "it has a dimension"


def test_a_program_that_failed_did_the_same_before():
    """What a program did before its error is compared where an edit lets it come to its end."""
    one = ran({"f": [[1], [{"error": "E"}]]}, printed=b"a\n", status=1)
    assert effects_until_it_failed(one, ran({"f": [[1], [5], [6]]}, printed=b"a\nb\n")) == ""
    assert effects_until_it_failed(one, ran({"f": [[2], [5]]}, printed=b"a\nb\n"))
    assert effects_until_it_failed(one, ran({"f": [[1], [5]]}, printed=b"b\n"))


def test_a_call_that_torch_refused_may_return():
    """The program caught that error; all else that it does must be the same."""
    refused = {"error": "Unsupported", "compiler": True}
    one = ran({"f": [[refused], [1]]}, printed=b"a\n", errors=1)
    assert other_effect(one, ran({"f": [[2], [1]]}, printed=b"a\n")) == ""
    assert other_effect(one, ran({"f": [[2], [1]]}, printed=b"a\n", errors=1)), "as many errors"
    assert other_effect(one, ran({"f": [[2], [3]]}, printed=b"a\n")) == "f, call 2: 3 instead of 1"
    assert other_effect(one, ran({"f": [[2], [1]]}, printed=b"b\n"))
    own = ran({"f": [[{"error": "ValueError: a", "compiler": False}], [1]]}, printed=b"a\n", errors=1)
    assert other_effect(own, ran({"f": [[2], [1]]}, printed=b"a\n")), "an error of the program"


def test_what_is_compiled_anew_in_each_call_is_no_help():
    calls = {"f": [[1]] * 4}
    before = ran(compilations=2).measured
    assert _each_call_anew(before, ran(calls, compilations=4).measured)
    assert not _each_call_anew(before, ran(calls, compilations=3).measured)
    assert not _each_call_anew(ran(compilations=9).measured, ran(calls, compilations=4).measured)


def test_the_copy_of_a_program_has_the_path_of_the_program():
    assert with_path({"a": ["/copy/p/x.py: 1", 2]}, "/copy/p", "/p") == {"a": ["/p/x.py: 1", 2]}


def test_numbers_that_differ_anyway_are_not_compared():
    """Seconds that are printed, logged or kept; not what a loss is beside them."""

    def timed(loss, seconds, kept, n=3, text="iter"):
        lines = "".join(f"{text} {i}: loss {loss}, {seconds}ms\n" for i in range(n))
        return ran({}, {"dt": [kept], "loss": [loss], MESSAGES: [f"took {seconds}"]}, lines.encode())

    first, again = timed(0.5, 1.25, 7.0), timed(0.5, 12.0, 8.0)
    but = unsteady(first, again)
    assert other_effect(first, again) and other_effect(first, again, but=but) == ""
    assert other_effect(first, timed(0.5, 3, 9.0), but=but) == ""
    assert "it prints" in other_effect(first, timed(0.6, 3, 9.0), but=but)
    assert "it prints" in other_effect(first, timed(0.5, 3, 9.0, n=4), but=but)
    assert "it prints" in other_effect(first, timed(0.5, 3, 9.0, text="step"), but=but)
    assert but.words == ("number 3 in 'iter 0: loss 0, 0ms'", "number 1 in 'took 0'", "dt")


def test_a_time_that_is_padded_is_not_compared():
    one, other, fixed = (ran(printed=f"time: {s:5.2f}s\n".encode()) for s in (26.04, 29.34, 1.91))
    assert other_effect(one, fixed, but=unsteady(one, other)) == ""


def test_a_program_whose_results_differ_is_not_compared():
    first, again = ran(state={"w": [number(1.0, (1,))]}), ran(state={"w": [number(2.0, (1,))]})
    assert other_effect(first, again, but=unsteady(first, again))
    first, again = ran(state={"took": [0.1, 0.2]}), ran(state={"took": [0.3, 0.1]})
    assert other_effect(first, again, but=unsteady(first, again)) == "", "seconds in a list"
    first, again = ran(printed=b"a b\n"), ran(printed=b"a c\n")
    assert other_effect(first, again, but=unsteady(first, again)), "no number"
