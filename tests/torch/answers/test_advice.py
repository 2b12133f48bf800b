"""Each advice is given where it is needed, removes what it says, and changes no result."""

from __future__ import annotations

import json
import re
from collections import Counter

import pytest
import torch
import torch._inductor.config
import torch.nn.attention.flex_attention
from advice_programs import PROGRAMS, Program, compiled
from number_programs import HELPED, NOT_HELPED, X

from depyf.actions.doctor.switches import follow
from depyf.contexts import PrepareDebug
from depyf.run.advice.advice import AdviceUse
from depyf.run.advice.registry import ADVICE
from depyf.run.causes.collect import causes_of
from depyf.run.store.loading import load
from depyf.sources.live.events.torch_options import in_force

pytestmark = pytest.mark.torch


def recorded(program, advised, folder):
    """What it returned, what torch did, and the advice in the dump, each with the function that it is about."""
    torch._dynamo.reset()
    prepare = PrepareDebug(str(folder), True, False)
    prepare.__enter__()
    try:
        results = program.run(advised)
    finally:
        prepare.__exit__(None, None, None)
    page = json.loads((folder / "manifest.json").read_text())
    counts: Counter[str] = Counter()
    given = []
    for function in page["functions"]:
        for entry in function["entries"]:
            counts["compilations"] += not entry["failed"]
            counts["python"] += bool(entry["failed"]) and not entry["raised"]
            counts["errors"] += entry["raised"]
            counts["breaks"] += len(entry["graph_breaks"])
            told = [*entry["advice"], *(a for b in entry["graph_breaks"] for a in b["advice"])]
            told += [a for reason in entry["recompiled_because"] for a in reason["advice"]]
            given += [(advice, function["function"]) for advice in told]
    known = {advice["id"] for advice, _ in given}
    ways = [(way, cause["function"]) for cause in page["causes"] for way in cause["ways"]]
    given += [(advice, name) for way, name in ways for advice in way["advice"] if advice["id"] not in known]
    return results, counts, given


def same(one, other):
    if isinstance(one, torch.Tensor):
        return torch.allclose(one, other)
    return all(map(same, one, other)) if isinstance(one, (list, tuple)) else one == other


UNPREDICTED = ("keep-the-object",)
"""What follows from a graph break: without that it would not be."""


def ways_with(id, folder):
    """The ways out that are this advice alone, for however many values."""
    ways = (way for cause in causes_of(load(folder)) for way in cause.ways)
    return [way for way in ways if {use.id for use in way.uses} == {id}]


@pytest.mark.parametrize("id", ADVICE)
def test_advice(id, tmp_path):
    advice, program = ADVICE[id], PROGRAMS[id]
    if not program.here:
        pytest.skip(f"torch {torch.__version__} has nothing that needs it")
    results, before, given = recorded(program, False, tmp_path / "before")
    if program.asked:
        wanted = re.sub(r"\\\{\w+\\\}", ".+", re.escape(advice.text))
        assert re.search(wanted, results), results
        return
    mine = [(told, function) for told, function in given if told["id"] == id]
    assert mine, f"not given; given: {sorted({told['id'] for told, _ in given})}"
    if not advice.remedy:
        assert program.removes == "" and before["compilations"] > 1
        return
    undo = []
    if advice.switch is not None:
        for told, function in mine:
            undo.append(follow(AdviceUse(id, tuple(told["values"].items())), function))
    try:
        again, after, still = recorded(program, True, tmp_path / "after")
    finally:
        for step in reversed(undo):
            step()
    assert after[program.removes] < before[program.removes], (before, after)
    assert same(results, again)
    if program.removes == "compilations":
        ways = ways_with(id, tmp_path / "before")
        predicted = [way.prediction for way in ways if way.prediction is not None]
        page = (tmp_path / "before" / "index.md").read_text()
        assert all(one.holds(after["compilations"]) for one in predicted), (predicted, after, page)
        assert predicted or not ways or id in UNPREDICTED, ways
    assert id not in [told["id"] for told, _ in still], "given although it is followed"


def test_every_program_is_of_an_advice():
    assert set(PROGRAMS) == set(ADVICE)


def test_options_as_they_are():
    assert not any(name.endswith(":") for name in in_force()), "this torch lacks an option"
    with torch._dynamo.config.patch(capture_scalar_outputs=True, reorderable_logging_functions={print}):
        assert {"capture_scalar_outputs", "reorderable_logging_functions:print"} <= in_force()
    assert "capture_scalar_outputs" not in in_force()


def test_training_steps_get_no_hint_of_torch(tmp_path):
    _, _, given = recorded(PROGRAMS["backward-outside"], False, tmp_path)
    assert {told["id"] for told, _ in given} == {"backward-outside"}
    page = (tmp_path / "manifest.json").read_text()
    assert "trace_autograd_ops=True" in page, "torch's own words are kept, as such"


def tried(function, folder):
    """A function as it is, and with symbols for the numbers that it reads: counts and advice, and how it ended."""
    program = Program(lambda advised: compiled(function)(X), "breaks")
    results, before, given = recorded(program, False, folder / "before")
    assert same(results, function(X))
    try:
        with torch._dynamo.config.patch(capture_scalar_outputs=True):
            again, after, _ = recorded(program, False, folder / "after")
    except Exception:  # torch raises where the number must be known
        return before, given, None
    assert same(results, again)
    return before, given, after


@pytest.mark.parametrize("function", HELPED, ids=lambda function: function.__name__)
def test_a_symbol_for_a_number_is_advised_where_it_helps(function, tmp_path):
    before, given, after = tried(function, tmp_path)
    assert before["breaks"] and not after["breaks"]
    assert "capture-scalars" in [told["id"] for told, _ in given]


@pytest.mark.parametrize("function", NOT_HELPED, ids=lambda function: function.__name__)
def test_a_symbol_for_a_number_is_not_advised_where_it_does_not_help(function, tmp_path):
    _, given, after = tried(function, tmp_path)
    assert after is None or after["breaks"] + after["python"]
    ids = [told["id"] for told, _ in given]
    assert "capture-scalars" not in ids and ids[0] == NOT_HELPED[function], ids


def test_what_is_set_already_and_does_not_help_is_said(tmp_path):
    branch = next(function for function in NOT_HELPED if function.__name__ == "clipped")
    with torch._dynamo.config.patch(capture_scalar_outputs=True):
        recorded(Program(lambda advised: compiled(branch)(X), "breaks"), False, tmp_path)
    (cause,) = json.loads((tmp_path / "manifest.json").read_text())["causes"]
    assert cause["text"].endswith("capture_scalar_outputs is set already, and does not help here")
    assert [told["id"] for told in cause["advice"]] == ["branchless"]


@pytest.mark.parametrize(("attends", "given"), [(False, ["repro"]), (True, [])])
def test_a_script_is_advised_only_where_one_can_be_made(attends, given, tmp_path):
    """Dynamo writes flex_attention into a graph, and cannot read it back: ``depyf repro`` would refuse."""

    def fails(graph):
        raise RuntimeError("a pass that fails")

    def attend(q):
        return torch.nn.attention.flex_attention.flex_attention(q, q, q) if attends else q * 2

    torch._dynamo.reset()
    with (
        torch._inductor.config.patch(post_grad_custom_post_pass=fails),
        PrepareDebug(str(tmp_path), True, False),
        pytest.raises(Exception, match="a pass that fails"),
    ):
        torch.compile(attend)(torch.ones(1, 1, 128, 16))
    (cause,) = json.loads((tmp_path / "manifest.json").read_text())["causes"]
    assert cause["kind"] == "failed" and [told["id"] for told in cause["advice"]] == given
