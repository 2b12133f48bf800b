"""Questions to what was compiled ahead of time, and to what was loaded."""

from __future__ import annotations

import sys

import pytest
import torch

import depyf

pytest.importorskip("torch._dynamo.aot_compile")
pytestmark = pytest.mark.torch
FACTOR = 3


def scaled(x, by=2):
    y = x.sin() + 1
    return y * by


def of_global(x):
    return x * FACTOR


def trained(x, weight, target):
    return torch.nn.functional.mse_loss(torch.tanh(x @ weight), target)


def ahead(function, *args, backend="aot_eager"):
    return torch.compile(function, fullgraph=True, backend=backend).aot_compile((args, {}))


@pytest.fixture(params=["compiled", "loaded"])
def compiled(request, tmp_path):
    made = ahead(scaled, torch.ones(3))
    if request.param == "compiled":
        return made
    file = tmp_path / "scaled.bin"
    made.save_compiled_function(str(file))
    with file.open("rb") as opened:
        return torch.compiler.load_compiled_function(opened)


def test_explain_tells_its_guards(compiled):
    report = depyf.explain(compiled)
    assert report.function == "scaled"
    (entry,) = report.entries
    assert entry.graphs == 1
    assert entry.backend == "aot_eager"
    assert any("L['x']" in guard.expression for guard in entry.guards)
    assert "ahead of time" in str(report)
    assert "never called" not in str(report)


def test_explain_counts_the_operations_that_dynamo_captured():
    """AOTAutograd's graphs have others: five for these three."""
    made = ahead(trained, torch.ones(2, 3), torch.ones(3, 2, requires_grad=True), torch.ones(2, 2))
    assert [entry.operations for entry in depyf.explain(made).entries] in ([3], [None])
    assert "5 operations" not in str(depyf.explain(made))


def test_explain_tells_what_no_guard_looks_at():
    of_file = [str(value) for value in depyf.explain(ahead(of_global, torch.ones(3))).unguarded]
    assert of_file == ["FACTOR (test_asked_ahead.py:23): none was stored"]


def test_why_tells_what_the_call_would_raise(compiled):
    assert "runs as it was compiled ahead of time" in depyf.why(compiled, torch.ones(3)).outcome
    answer = depyf.why(compiled, torch.ones(4), by=5)
    assert answer.runs is None
    assert answer.outcome.startswith("the call raises RuntimeError")
    (refusal,) = answer.refusals
    assert [one.subject for one in refusal.differences] == ["x differs", "by differs"]
    assert "expected size[0]=3, actual size[0]=4" in str(answer)
    assert "before aot_compile" in str(answer)
    with pytest.raises(RuntimeError, match="GuardManager check failed"):
        compiled(torch.ones(4), by=5)


def test_why_knows_that_guards_are_switched_off(compiled):
    compiled.disable_guard_check()
    assert depyf.why(compiled, torch.ones(4)).runs is not None


def test_replay_does_what_a_call_does(compiled):
    replica = depyf.replay(compiled)
    assert torch.equal(replica(torch.ones(3)), compiled(torch.ones(3)))
    with pytest.raises(RuntimeError, match="GuardManager check failed"):
        replica(torch.ones(4))
    assert not replica.disagreements
    (answer,) = replica.steps(torch.ones(4))
    assert not answer.runs


def test_compare_tells_whether_it_does_what_python_does(compiled):
    same = depyf.compare(compiled, torch.ones(3))
    assert same
    assert same.python.entry
    raising = depyf.compare(compiled, torch.ones(4))
    assert not raising
    assert "compiled ahead of time for other calls" in str(raising)


def test_compare_sees_a_global_that_was_rebound(monkeypatch):
    """torch leaves guards on globals out of what is compiled ahead of time."""
    made = ahead(of_global, torch.ones(3))
    assert depyf.compare(made, torch.ones(3))
    monkeypatch.setattr(sys.modules[__name__], "FACTOR", 5)
    assert torch.equal(made(torch.ones(3)), torch.full((3,), 3.0))
    assert not depyf.compare(made, torch.ones(3))


def test_decompile_shows_the_function_as_for_what_torch_compile_returns(compiled):
    assert "x.sin() + 1" in depyf.decompile(compiled)


def test_debug_stops_in_its_graphs_and_leaves_it_as_it_is(tmp_path, monkeypatch):
    with depyf.prepare_debug(str(tmp_path)):
        made = ahead(scaled, torch.ones(3))
    seen = set()

    def trace(frame, event, argument):
        seen.add(frame.f_code.co_filename)
        return

    with depyf.debug():
        sys.settrace(trace)
        try:
            result = made(torch.ones(3))
        finally:
            sys.settrace(None)
    assert torch.equal(result, scaled(torch.ones(3)))
    assert str(tmp_path / "__compiled_fn_0_0.Forward_graph.0.py") in seen
    assert "runs as it was compiled ahead of time" in depyf.why(made, torch.ones(3)).outcome


def test_entries_of_debug_are_not_called_loaded(tmp_path):
    with depyf.prepare_debug(str(tmp_path)):
        made = torch.compile(scaled, backend="aot_eager")
        made(torch.ones(3))
    with depyf.debug():
        made(torch.ones(3))
        inside = str(depyf.explain(made)), depyf.why(made, torch.ones(5)).outcome
    assert "loaded" not in inside[0] + inside[1]


def test_a_function_is_asked_apart_from_what_was_made_of_it_ahead(compiled):
    assert "no cache entry" in depyf.why(scaled, torch.ones(3)).outcome
    assert compiled is not None


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)

    def forward(self, x, by=2):
        return self.linear(x) * by


def of_module(*args):
    return torch.compile(Net(), fullgraph=True, backend="aot_eager").forward.aot_compile((args, {}))


def test_a_module_is_called_by_its_class(tmp_path):
    """What is compiled is torch's code that calls any module."""
    made = of_module(torch.ones(4, 3))
    report = depyf.explain(made)
    assert report.function == "Net"
    assert "guard x: Tensor float32[4, 3]" in str(report) and "_wrapped_call_impl" not in str(report)
    with depyf.prepare_debug(str(tmp_path)):
        pass
    assert "- `Net` (module.py:" in (tmp_path / "index.md").read_text()


def test_why_speaks_of_the_module(tmp_path):
    answer = depyf.why(of_module(torch.ones(4, 3)), Net(), torch.ones(5, 3))
    assert answer.function == "Net"
    assert [one.subject for refusal in answer.refusals for one in refusal.differences] == ["x differs"]
    assert "mark_dynamic(x, 0) before aot_compile" in str(answer) and "args[0]" not in str(answer)


def test_a_module_whose_guards_are_all_left_out(tmp_path):
    options = {"guard_filter_fn": torch.compiler.skip_all_guards_unsafe}
    with depyf.prepare_debug(str(tmp_path)):
        compiled = torch.compile(Net(), fullgraph=True, backend="aot_eager", options=options)
        made = compiled.forward.aot_compile(((torch.ones(4, 3),), {}))
    report = depyf.explain(made)
    assert report.function == "Net"
    assert "compiled(self, x.new_ones(5, 3))" in str(report)
