"""Which ways out are tried, and what is said of what they did."""

from __future__ import annotations

from dataclasses import replace

from depyf.actions.doctor.doctor_report import tries_lines
from depyf.actions.doctor.returned_values import first_difference
from depyf.actions.doctor.trial import Measured
from depyf.actions.doctor.trial_files import FollowedAdvice
from depyf.actions.doctor.tries import Tries
from depyf.actions.doctor.ways import PlannedWay, WayOutcome, all_that_help, judged, way_in_words, ways_out
from depyf.run.advice.registry import use
from depyf.run.bill.guard_filters import GUARD_FILTERS
from depyf.run.causes.cause import Cause, CauseKind, Costs
from depyf.run.causes.prediction import Bound, Prediction
from depyf.run.causes.ways_out import WayOut
from depyf.run.run import RunTotals


def tensor(*values, dtype="float32", grad=False):
    return {"shape": [len(values)], "dtype": dtype, "requires_grad": grad, "values": list(values)}


def cause(function, *ways):
    return Cause(CauseKind.RECOMPILES, function, None, "", "", (), Costs(), "", ways=ways)


def test_results_are_compared_within_the_tolerance_of_their_dtypes():
    one = {"f": [[tensor(1.0, 1e-9), 3]]}
    assert first_difference(one, {"f": [[tensor(1.0001, 0.0), 3]]}) == ""
    assert "1.1 instead of 1.0" in first_difference(one, {"f": [[tensor(1.1, 1e-9), 3]]})
    assert "4 instead of 3" in first_difference(one, {"f": [[tensor(1.0, 1e-9), 4]]})
    assert "requires_grad True instead of False" in first_difference(one, {"f": [[tensor(1.0, 1e-9, grad=True), 3]]})
    assert first_difference(one, {"f": []}) == "f was called 0 times instead of 1"
    assert "0 values instead of 2" in first_difference(one, {"f": [[]]})
    further = {"f": [[*one["f"][0], tensor(5.0)]]}
    assert "3 values instead of 2" in first_difference(one, further) and first_difference(one, further, more=True) == ""
    assert "2 values instead of 3" in first_difference(further, one, more=True)
    whole = {"f": [[tensor(5, dtype="int64")]]}
    assert first_difference(whole, {"f": [[tensor(6, dtype="int64")]]})
    nan = {"f": [[tensor(float("nan"), float("inf"))]]}
    assert first_difference(nan, nan) == "" and first_difference(nan, {"f": [[tensor(float("inf"), float("inf"))]]})
    assert first_difference({"f": [[tensor(1.0, dtype="bfloat16")]]}, {"f": [[tensor(1.02, dtype="bfloat16")]]}) == ""


def test_ways_that_need_an_edit_are_not_tried():
    mark, other = (use("mark-dynamic", tensor=name, dimension="0") for name in "xy")
    contiguous, dynamic = use("contiguous", tensor="x"), use("compile-dynamic")
    causes = [
        cause(
            "f",
            WayOut((mark,), Prediction(9, 8)),
            WayOut((contiguous,), Prediction(9, 1)),
            WayOut((mark, contiguous), Prediction(9, 1)),
        ),
        cause("g", WayOut((mark, other), Prediction(9, 2)), WayOut((dynamic,), Prediction(9, 3))),
        cause("h", WayOut((dynamic,), Prediction(9, 3)), WayOut((use("raise-limit", limit="64"),))),
    ]
    # the names of functions are those of the dump: a cause may have a better one
    found = ways_out(causes, [(mark, "f"), (mark, "g.<locals>.h")])
    assert [[(one.use.id, one.function) for one in way.ways] for way in found] == [
        [("mark-dynamic", "f"), ("mark-dynamic", "g.<locals>.h"), ("mark-dynamic", "g")],
        [("compile-dynamic", "")],
        [("mark-dynamic", "f"), ("mark-dynamic", "g.<locals>.h")],
        [("raise-limit", "")],
    ]
    assert found[0].text.startswith("torch._dynamo.mark_dynamic(x, 0) before the first call of f; torch._dynamo.mark")
    number = FollowedAdvice(use("unspecialised-int", name="self.n"), "")
    assert way_in_words(number) == "torch._dynamo.config.allow_unspec_int_on_nn_module = True"


def test_fewer_errors_that_the_program_catches_are_a_help():
    """What failed is compiled then, which takes compilations."""

    def ran(errors, compilations, breaks=0):
        return Measured(0, RunTotals(compilations, breaks=breaks, errors=errors), 1.0, calls={})

    def outcome(before, after):
        return judged(PlannedWay(()), before, after, deterministic=False).outcome

    assert outcome(ran(2, 1), ran(0, 1)) is outcome(ran(2, 1), ran(0, 3)) is WayOutcome.HELPS
    assert outcome(ran(2, 1), ran(2, 1)) is WayOutcome.NOTHING
    assert outcome(ran(2, 1), ran(1, 1, breaks=3)) is WayOutcome.MIXED
    assert outcome(ran(1, 1), ran(2, 1)) is WayOutcome.FAILED


def test_only_ways_out_of_different_causes_are_followed_together():
    first, other, both = (FollowedAdvice(use("mark-dynamic", tensor=name, dimension="0"), "f") for name in "xyz")
    base = measured(0, 9, 0, 0)

    def tried(left, one, *causes):
        return judged(PlannedWay((one,), causes=frozenset(causes)), base, measured(0, left, 0, 0), True)

    assert all_that_help([tried(3, first, 0), tried(5, other, 0)]) == (), "alternatives of one cause"
    assert all_that_help([tried(3, first, 0), tried(5, other, 1)]) == (first, other)
    assert all_that_help([tried(3, first, 0), tried(9, other, 1)]) == (), "one of them does not help"
    assert all_that_help([tried(2, both, 0, 1), tried(3, first, 0), tried(5, other, 1)]) == ()


def test_a_prediction_without_an_upper_end():
    plan = PlannedWay((FollowedAdvice(use("compile-dynamic"), ""),), Prediction(9, 2, Bound.OR_MORE))
    base = measured(0, 9, 0, 0)
    more, less = (judged(plan, base, measured(0, left, 0, 0), True) for left in (3, 1))
    assert less.wrong and not more.wrong
    assert "2+" in "\n".join(tries_lines(base, Tries((more,))))


def test_a_prediction_without_a_lower_end():
    plan = PlannedWay(
        (FollowedAdvice(use("mark-dynamic", tensor="x", dimension="1"), "f"),), Prediction(9, 4, Bound.OR_FEWER)
    )
    base = measured(0, 9, 0, 0)
    more, less = (judged(plan, base, measured(0, left, 0, 0), True) for left in (5, 3))
    assert more.wrong and not less.wrong
    lines = "\n".join(tries_lines(base, Tries((more, less))))
    assert (
        "The prediction was wrong: torch._dynamo.mark_dynamic(x, 1)" in lines and "predicted were 4 or fewer" in lines
    )


def test_a_program_that_comes_to_its_end_under_a_way_is_helped():
    base = measured(1, 8, 0, 0, errors=1, seconds=1.0)
    assert outcome(base, measured(0, 12, 0, 0, seconds=1.0)) is WayOutcome.HELPS
    raised = measured(1, 8, 0, 0, seconds=1.0)
    assert outcome(raised, measured(0, 12, 0, 0, seconds=1.0)) is WayOutcome.HELPS, "the error was the program's"
    assert outcome(raised, measured(0, 12, 0, 0, errors=1, seconds=1.0)) is WayOutcome.FAILED


def test_a_prediction_that_was_wrong_is_told():
    plan = PlannedWay((FollowedAdvice(use("compile-dynamic"), ""),), Prediction(9, 2))
    base = measured(0, 9, 0, 0)
    wrong, right = (judged(plan, base, measured(0, left, 0, 0), True) for left in (3, 2))
    assert wrong.wrong and not right.wrong and not judged(PlannedWay(plan.ways), base, base, True).wrong
    text = "\n".join(tries_lines(base, Tries((wrong, right))))
    assert (
        text.count("The prediction was wrong: torch.compile(dynamic=True) leaves 3 compilations, predicted were 2") == 1
    )


WAY = PlannedWay((FollowedAdvice(use("compile-dynamic"), ""),))


def outcome(before, after, deterministic=True):
    return judged(WAY, before, after, deterministic).outcome


def measured(status, compilations, breaks, python, errors=0, **others):
    return Measured(status, RunTotals(compilations, breaks=breaks, ran_as_python=python, errors=errors), **others)


def test_verdicts():
    calls, others = {"f": [[1.0]]}, {"f": [[2.0]]}
    base = measured(0, 9, 3, 1, calls=calls)
    assert outcome(base, measured(0, 5, 3, 1, calls=calls)) is WayOutcome.HELPS
    assert outcome(base, measured(0, 9, 3, 1, calls=calls)) is WayOutcome.NOTHING
    assert outcome(base, measured(0, 10, 3, 1, calls=calls)) is WayOutcome.WORSE
    assert outcome(base, measured(0, 12, 2, 1, calls=calls)) is WayOutcome.MIXED
    assert outcome(base, measured(0, 12, 3, 0, calls=calls)) is WayOutcome.HELPS, "what was Python is compiled"
    assert outcome(base, measured(0, 1, 0, 0, calls=others)) is WayOutcome.HARMFUL
    assert outcome(base, measured(0, 1, 0, 0, calls=others), deterministic=False) is WayOutcome.HELPS
    assert judged(WAY, base, measured(0, 1, 0, 0, calls=others), False).results == "unknown"
    assert outcome(base, measured(1, 1, 0, 0, calls=calls)) is WayOutcome.FAILED
    bad_end = measured(1, 9, 3, 1, seconds=1.0, calls=calls)
    as_bad = measured(1, 5, 3, 1, seconds=1.0, calls=calls, problem="it ended with status 1: as before")
    assert outcome(bad_end, as_bad) is WayOutcome.HELPS, "the program ends badly as it is"
    assert outcome(bad_end, Measured(1, problem="it did not end within 9 s")) is WayOutcome.FAILED
    assert outcome(base, measured(0, 1, 0, 0, 1, calls=calls)) is WayOutcome.FAILED


def test_guards_that_take_long_lead_to_the_option():
    told = "Guards take 300 us of each call: `--try --guards` measures"
    slow = replace(measured(0, 1, 0, 0), guards=300.0)
    assert told in tries_lines(slow, Tries())[1] and len(tries_lines(replace(slow, guards=5.0), Tries())) == 1
    plan = PlannedWay((), guard_filter=GUARD_FILTERS[0])
    lines = tries_lines(slow, Tries((judged(plan, slow, slow, True),)))
    assert told not in "\n".join(lines)
    assert "None of these helps." in lines, "there is no cause with another way out"
