"""Each advice is given where it is needed, removes what it says, and changes no result."""

from __future__ import annotations

import json
import re
from collections import Counter

import pytest
import torch
from advice_programs import PROGRAMS

from depyf.actions.doctor.switches import follow
from depyf.contexts import PrepareDebug
from depyf.run.advice.advice import AdviceUse
from depyf.run.advice.registry import ADVICE
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
    return results, counts, given


def same(one, other):
    if isinstance(one, torch.Tensor):
        return torch.allclose(one, other)
    return all(map(same, one, other)) if isinstance(one, (list, tuple)) else one == other


@pytest.mark.parametrize("id", ADVICE)
def test_advice(id, tmp_path):
    advice, program = ADVICE[id], PROGRAMS[id]
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
