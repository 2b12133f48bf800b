"""``depyf.why`` and ``depyf.watch`` about functions that are compiled inside a call."""

from __future__ import annotations

import json

import pytest
import torch

import depyf

pytestmark = pytest.mark.torch
MODE = 1


class Counter(torch.nn.Module):
    def __init__(self, counts=True):
        super().__init__()
        self.counts = counts
        self.calls = 0

    def forward(self, x):
        if self.counts:
            self.calls += 1
        y = x * (self.calls + 2) * MODE
        print(end="")
        return y + 1


class Outer(torch.nn.Module):
    def __init__(self, counts=True):
        super().__init__()
        self.parts = torch.nn.ModuleList(Counter(counts) for _ in range(2))

    def forward(self, x):
        for part in self.parts:
            x = part(x)
        return x


def helper(x, n):
    return x * n


def make(counts):
    torch._dynamo.reset()
    torch._dynamo.utils._compilation_metrics.clear()
    outer = Outer(counts)

    def step(x):
        y = outer(x)
        print(end="")
        return y - 1

    return outer, torch.compile(step, backend="eager", dynamic=False)


def test_an_inner_function_that_is_compiled_again():
    outer, compiled = make(counts=True)
    for _ in range(3):
        compiled(torch.ones(3))
    answer = depyf.why(compiled, torch.ones(3))
    assert answer.runs == "0/0" and answer.compiled_again == ("Counter.forward",)
    assert "is compiled again" in answer.outcome and "cache entry 0/0 runs until its graph break" in answer.outcome
    text = str(answer)
    assert "for self = outer.parts.0, outer.parts.1: none fits" in text
    assert "self.calls differs: expected 2, actual 3" in text and "self.calls += 1" in text
    (inner,) = answer.inside
    assert inner.calls[0].text == "x = part(x)"
    assert json.loads(json.dumps(answer.to_json()))["inside"][0]["outcome"] == "is compiled again"
    page = answer._repr_html_()
    assert "Counter.forward" in page and "self.calls" in page
    before = torch._dynamo.utils.counters["stats"]["unique_graphs"]
    assert [part.calls for part in outer.parts] == [3, 3], "asking runs nothing"
    with depyf.watch() as watched:
        compiled(torch.ones(3))
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] > before, "the call does what was said"
    assert "Counter.forward" in {one.function for one in watched.compilations if one.refusals}
    assert "self.calls differs: expected 2, actual 3" in str(watched)


def test_an_inner_function_that_fits():
    outer, compiled = make(counts=False)
    for _ in range(3):
        compiled(torch.ones(3))
    answer = depyf.why(compiled, torch.ones(3))
    assert answer.runs == "0/0" and answer.compiled_again == () and "compiled again" not in str(answer)
    assert "Counter.forward is dispatched by itself" in answer.outcome and "may run" in str(answer)
    with depyf.watch() as watched:
        compiled(torch.ones(3))
    assert not watched.compilations and "nothing was compiled" in str(watched)
    outer.parts[1].calls = 5
    answer = depyf.why(compiled, torch.ones(3))
    assert answer.compiled_again == ("Counter.forward",)
    said = str(answer)
    assert "for self = outer.parts.1: none fits" in said and "for self = outer.parts.0:" in said


def test_a_global_of_an_inner_function(monkeypatch):
    _, compiled = make(counts=False)
    compiled(torch.ones(3))
    compiled(torch.ones(3))
    monkeypatch.setitem(globals(), "MODE", 7)
    answer = depyf.why(compiled, torch.ones(3))
    assert answer.compiled_again == ("Counter.forward",) and "the global MODE differs: expected 1, actual 7" in str(
        answer
    )


def test_a_function_that_runs_as_python():
    """Its inner function gets values that the call computes: only a run can tell, and ``watch`` does."""
    torch._dynamo.reset()
    torch._dynamo.utils._compilation_metrics.clear()
    numbers = [1, 2]

    def step(x):
        for n in numbers:
            print(end="")
            x = helper(x, n)
        return x

    compiled = torch.compile(step, backend="eager", dynamic=False)
    compiled(torch.ones(3))
    answer = depyf.why(compiled, torch.ones(3))
    assert answer.runs is None and "runs as ordinary Python" in answer.outcome and "print()" in answer.outcome
    assert [inner.function for inner in answer.inside] == ["helper"]
    assert "may run" in str(answer) and "depyf.watch()" in str(answer)
    numbers[:] = [5]
    with depyf.watch() as watched:
        result = compiled(torch.ones(3))
    assert torch.equal(result, torch.full((3,), 5.0))
    (seen,) = watched.compilations
    assert [d.about for d in seen.refusals[0].differences] == ["n"] and seen.callers[
        -1
    ].place.text == "x = helper(x, n)"
    text = str(watched)
    assert "expected 2, actual 5" in text and "the same; n expected 1" in text
    data = json.loads(json.dumps(watched.to_json()))
    assert data["compilations"][0]["outcome"] == "was compiled again"
    assert "helper" in watched._repr_html_() and "1 compilation" in repr(watched)


def test_the_recompile_limit_of_an_inner_function():
    _, compiled = make(counts=True)
    name = "recompile_limit" if hasattr(torch._dynamo.config, "recompile_limit") else "cache_size_limit"
    with torch._dynamo.config.patch({name: 3}):
        for _ in range(2):
            compiled(torch.ones(3))
        compiled(torch.ones(3))
        answer = depyf.why(compiled, torch.ones(3))
        assert "runs as ordinary Python (recompile limit)" in answer.outcome


def test_a_call_that_breaks_nowhere_has_nothing_inside():
    compiled = torch.compile(lambda x: helper(x, 3), backend="eager")
    compiled(torch.ones(2))
    assert depyf.why(compiled, torch.ones(2)).inside == ()
    assert str(depyf.why(compiled, torch.ones(2))).endswith("runs")


def test_after_a_recording(tmp_path):
    """The frames of the callers ran the dumped text then; they are known as those of the program."""
    _, compiled = make(counts=True)
    with depyf.prepare_debug(tmp_path):
        for _ in range(2):
            compiled(torch.ones(3))
        assert depyf.why(compiled, torch.ones(3)).compiled_again == ("Counter.forward",)
    answer = depyf.why(compiled, torch.ones(3))
    assert answer.compiled_again == ("Counter.forward",)
    (outer,) = depyf.explain(compiled).inside
    assert [(call.filename, call.text) for call in outer.calls] == [(__file__, "y = outer(x)")]
    assert [part.function for part in outer.inside] == ["Counter.forward"]


def scaled_after_a_break(x, factor, mode):
    x = x + 1
    print("", end="")
    return x * factor if mode == "a" else x


def test_the_rest_after_a_break_is_asked_with_the_arguments_that_stay():
    torch._dynamo.reset()
    function = torch.compile(scaled_after_a_break, backend="eager")
    for factor in (1, 2):
        function(torch.ones(3), factor, "a")
    same, other = (depyf.why(function, torch.ones(3), 7, mode) for mode in "ab")
    assert same.outcome.endswith(" is dispatched by itself") and not same.compiled_again
    assert "then the rest of scaled_after_a_break after line" in same.outcome and "resume_in" not in str(same)
    assert other.compiled_again and other.compiled_again[0].startswith("torch_dynamo_resume_in_scaled_after_a_break")
    assert other.outcome.endswith(" is compiled again") and other.outcome.startswith("cache entry ")
    assert "mode differs: expected 'a', actual 'b'" in str(other)
    assert other.to_json()["rests"][0]["outcome"] == "is compiled again"


def changing(x, factor):
    factor = factor + 1
    print("", end="")
    return x * factor


def test_an_argument_that_is_bound_anew_is_not_known_after_the_break():
    torch._dynamo.reset()
    function = torch.compile(changing, backend="eager")
    function(torch.ones(3), 1)
    assert not depyf.why(function, torch.ones(3), 1).compiled_again
