"""What ``aot_compile`` makes is recorded as what a call makes: compilation, guards, transformed code, graphs, kernels."""

from __future__ import annotations

import pytest
import torch

import depyf
from depyf.run.made import Made
from depyf.run.records import EntryState
from depyf.run.store.loading import load

pytest.importorskip("torch._dynamo.aot_compile")
pytestmark = pytest.mark.torch


def scaled(x, by=2):
    y = x.sin() + 1
    return y * by


def printing(x):
    print("a graph break")
    return x + 1


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)

    def forward(self, x):
        return self.linear(x).relu()


def ahead(function, *args, backend="aot_eager", **options):
    return torch.compile(function, fullgraph=True, backend=backend, **options).aot_compile((args, {}))


def only_entry(folder):
    (function,) = load(folder).functions
    (entry,) = function.entries
    return function, entry


def test_a_function_has_all_that_a_call_leaves(tmp_path):
    with depyf.prepare_debug(str(tmp_path)):
        compiled = ahead(scaled, torch.ones(3))
        result = compiled(torch.ones(3))
    assert torch.equal(result, scaled(torch.ones(3)))
    function, entry = only_entry(tmp_path)
    assert (function.code.name, entry.key.text, entry.made, entry.state) == (
        "scaled",
        "0/0",
        Made.AHEAD,
        EntryState.COMPILED,
    )
    assert entry.backend == "aot_eager"
    assert any("L['x']" in guard.expression for guard in entry.guards)
    assert [verdict.status for verdict in entry.transformed.verdicts] in (["EQUIVALENT"], ["IDENTICAL"])
    assert {graph.stage for graph in load(tmp_path).graphs} == {"Captured_Graph", "Forward_graph"}
    assert entry.callers[-1].place.function == "ahead"


def test_the_index_says_how_and_no_file_is_unknown(tmp_path):
    with depyf.prepare_debug(str(tmp_path)):
        compiled = ahead(scaled, torch.ones(3))
    text = (tmp_path / "index.md").read_text()
    assert "0/0: compiled ahead of time, " in text
    assert "1 compilation, 1 graph" in text
    assert "othing was compiled" not in text
    assert "never called" not in text
    assert not [path.name for path in tmp_path.iterdir() if "unknown" in path.name]
    assert compiled is not None


def test_the_page_raises_where_a_guard_fails(tmp_path):
    with depyf.prepare_debug(str(tmp_path)):
        compiled = ahead(scaled, torch.ones(3))
    (page,) = tmp_path.glob("full_code_for_scaled*.py")
    assert "recompile_limit" not in page.read_text()
    replica = depyf.replay(str(page))
    assert torch.equal(replica(torch.ones(3)), compiled(torch.ones(3)))
    with pytest.raises(RuntimeError) as raised:
        compiled(torch.ones(4))
    with pytest.raises(RuntimeError, match="GuardManager check failed") as of_replica:
        replica(torch.ones(4))
    assert str(of_replica.value) == str(raised.value)
    assert not replica.disagreements


def test_training_has_the_graphs_of_the_backward(tmp_path):
    net = Net()
    with depyf.prepare_debug(str(tmp_path)):
        compiled = torch.compile(net, fullgraph=True, backend="aot_eager").forward.aot_compile(((torch.ones(3),), {}))
        compiled(net, torch.ones(3)).sum().backward()
    function, entry = only_entry(tmp_path)
    assert "Net" in function.code.shown
    assert {graph.stage for graph in load(tmp_path).graphs if graph.key == entry.key} >= {
        "Joint_graph",
        "Forward_graph",
        "Backward_graph",
    }


def test_an_error_is_one_of_the_function(tmp_path):
    with depyf.prepare_debug(str(tmp_path)), pytest.raises(torch._dynamo.exc.Unsupported):
        ahead(printing, torch.ones(3))
    function, entry = only_entry(tmp_path)
    assert (function.code.name, entry.state) == ("printing", EntryState.FAILED)
    assert [record.place.text for record in entry.breaks] == ['print("a graph break")']
    assert "never called" not in (tmp_path / "index.md").read_text()


def test_each_compilation_of_a_function_is_one_by_itself(tmp_path):
    with depyf.prepare_debug(str(tmp_path)):
        first, second = ahead(scaled, torch.ones(3)), ahead(scaled, torch.ones(3, 3))
        torch.compile(scaled, backend="aot_eager")(torch.ones(3))
        torch._dynamo.reset()
        third = ahead(scaled, torch.ones(3))
    made = [(entry.key.label, entry.made, entry.guard_state) for _, entry in load(tmp_path).entries]
    assert made == [
        ("0/0", Made.AHEAD, "live"),
        ("1/0", Made.AHEAD, "live"),
        ("2/0", Made.CALL, "event"),
        ("0/0 (after reset 1)", Made.AHEAD, "live"),
    ]
    assert len({id(first), id(second), id(third)}) == 3


def test_what_is_gone_is_recorded_and_called_so(tmp_path):
    with depyf.prepare_debug(str(tmp_path)):
        ahead(scaled, torch.ones(3))
    assert only_entry(tmp_path)[1].guards
    assert "no longer alive" in (tmp_path / "index.md").read_text()


def test_what_is_loaded_is_called_loaded(tmp_path):
    file = tmp_path / "scaled.bin"
    ahead(scaled, torch.ones(3)).save_compiled_function(str(file))
    torch._dynamo.reset()
    dump = tmp_path / "dump"
    with depyf.prepare_debug(str(dump)):
        with file.open("rb") as opened:
            loaded = torch.compiler.load_compiled_function(opened)
        with file.open("rb") as opened:
            again = torch.compiler.load_compiled_function(opened)
        assert torch.equal(loaded(torch.ones(3)), again(torch.ones(3)))
    run = load(dump)
    assert [(entry.key.text, entry.made) for _, entry in run.entries] == [
        ("loaded0/0", Made.AHEAD_LOADED),
        ("loaded1/0", Made.AHEAD_LOADED),
    ]
    assert (run.compilations, run.loaded) == (0, 2)
    assert {graph.key.text for graph in run.graphs} == {"loaded0/0", "loaded1/0"}
    assert "0 compilations, 2 loaded" in (dump / "index.md").read_text()


def test_what_was_compiled_before_is_in_the_dump(tmp_path):
    made, other = ahead(scaled, torch.ones(3)), ahead(scaled, torch.ones(4))
    with depyf.prepare_debug(str(tmp_path / "first")):
        inside = ahead(scaled, torch.ones(5))
    with depyf.prepare_debug(str(tmp_path / "second")):
        made(torch.ones(3))
    run = load(tmp_path / "second")
    assert [(entry.made, entry.before) for _, entry in run.entries] == [(Made.AHEAD, True)] * 3
    assert len({entry.key for _, entry in run.entries}) == 3
    assert all(entry.guards and entry.transformed.source for _, entry in run.entries)
    assert "compiled before the recording began" in (tmp_path / "second" / "index.md").read_text()
    assert len(load(tmp_path / "first").entries) == 3
    assert other is not inside


def test_a_graph_of_no_function_is_not_called_nothing(tmp_path):
    with depyf.prepare_debug(str(tmp_path)):
        torch.export.export(Net(), (torch.ones(3),), strict=True)
    text = (tmp_path / "index.md").read_text()
    assert "captured for `torch.export`" in text
    assert "othing was compiled" not in text
