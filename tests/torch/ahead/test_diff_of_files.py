"""``depyf diff`` with a saved function on one side or both: same code, same guards, same graphs, same kernels?"""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import pytest
import torch

import depyf
from depyf.actions.opened.artefact_diff import artefact_diff
from depyf.cli import main
from depyf.cli.exit_status import ExitStatus

pytest.importorskip("torch._dynamo.aot_compile")
pytestmark = pytest.mark.torch


def scaled(x, by=2, *, shift=0.5):
    if x.shape[0] > 2:
        x = x.sin() * by
    return x + shift


def other(x, by=2, *, shift=0.5):
    if x.shape[0] > 2:
        x = x.cos() * by
    return x + shift


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.factor, self.options = torch.nn.Linear(3, 3), 2, {"a": 1, "b": 2}

    def forward(self, x, flag=True):
        y = self.linear(x) if flag else x
        return y * self.factor + self.options["b"] + len(self.options)


def saved(folder: Path, function=scaled, shape=(4, 3), dtype=torch.float32, backend="inductor", **options) -> Path:
    """What was compiled, beside the dump of that."""
    torch._dynamo.reset()
    compiled = torch.compile(function, fullgraph=True, backend=backend, **options)
    make = compiled.forward.aot_compile if isinstance(function, torch.nn.Module) else compiled.aot_compile
    with depyf.prepare_debug(str(folder / "dump")):
        made = make(((torch.ones(*shape, dtype=dtype),), {}))
    made.save_compiled_function(str(folder / "saved.aot"))
    return folder / "saved.aot"


@pytest.fixture(scope="module")
def of_scaled(tmp_path_factory):
    return saved(tmp_path_factory.mktemp("scaled"))


def outcomes(found):
    return {part.name: part.outcome for part in found.parts}


@pytest.mark.parametrize("function", (scaled, Net()))
@pytest.mark.parametrize("dynamic", (False, True))
def test_a_file_and_the_run_that_made_it(function, dynamic, tmp_path):
    file = saved(tmp_path, function, dynamic=dynamic)
    found = artefact_diff(file, file.parent / "dump")
    assert found.equal, "\n".join(line for part in found.parts for line in part.lines)
    assert {"code", "guards", "Forward_graph", "kernels"} <= outcomes(found).keys()
    assert set(outcomes(found).values()) <= {"the same", "alike"}
    assert artefact_diff(file.parent / "dump", file).equal


def views(x):
    return x.reshape(2 * x.shape[1], -1).sin()


def test_a_size_is_the_same_however_torch_prints_it(tmp_path):
    """``Sym(2*s27)`` in what torch reports, ``Sym(2 * s27)`` in what it stores."""
    torch._dynamo.reset()
    file = saved(tmp_path, views, (2, 4, 3), backend="aot_eager", dynamic=True)
    found = artefact_diff(file, tmp_path / "dump")
    assert outcomes(found)["Forward_graph"] in ("the same", "alike"), found.parts


def branching(x, flag=True):
    return x + 1 if flag else x.relu()


def branching_elsewhere(x, flag=True):
    return x + 1 if flag else x.tanh()


def test_two_functions_of_which_the_same_was_compiled(tmp_path):
    """The branch that is not taken is in the function and in no graph."""
    one, two = (saved(tmp_path / made.__name__, made, backend="aot_eager") for made in (branching, branching_elsewhere))
    found = artefact_diff(one, two)
    assert outcomes(found)["code"] == outcomes(found)["guards"] == "the same"
    (part,) = (part for part in found.parts if part.name == "function")
    assert part.differs and any("tanh" in line for line in part.lines)
    assert "function" not in outcomes(artefact_diff(one, one.parent / "dump"))


def test_few_lines_of_each_side_are_shown_and_the_rest_is_counted(of_scaled, tmp_path):
    found = artefact_diff(of_scaled, saved(tmp_path, shape=(7, 5)))
    (part,) = (part for part in found.parts if part.name == "kernels")
    assert [line[0] for line in part.lines[:-1]] == ["-"] * 3 + ["+"] * 3
    assert part.lines[-1].startswith("and ") and part.lines[-1].endswith("more lines: -u shows all")


def test_a_run_that_compiled_at_a_call(of_scaled, tmp_path):
    torch._dynamo.reset()
    with depyf.prepare_debug(str(tmp_path)):
        torch.compile(scaled)(torch.ones(4, 3))
    found = artefact_diff(of_scaled, tmp_path)
    assert outcomes(found)["guards"] == "the same" and found.equal


def test_other_guards(of_scaled, tmp_path):
    found = artefact_diff(of_scaled, saved(tmp_path, dynamic=True))
    (guards,) = (part for part in found.parts if part.name == "guards")
    assert "only 1: by == 2" in guards.lines and "only 2: 3 <= x.size(0)" in guards.lines
    assert not found.equal


def test_another_tensor(of_scaled, tmp_path):
    first = saved(tmp_path / "a", dtype=torch.float64)
    (guards,) = (part for part in artefact_diff(of_scaled, first).parts if part.name == "guards")
    assert guards.lines == ("x: float32[4, 3] in 1, float64[4, 3] in 2",)
    second = saved(tmp_path / "b", shape=(5, 3))
    for one in (second, second.parent / "dump"):
        (guards,) = (part for part in artefact_diff(of_scaled, one).parts if part.name == "guards")
        assert guards.lines == ("x: float32[4, 3] in 1, float32[5, 3] in 2",)


def test_other_graphs_and_kernels(of_scaled, tmp_path):
    found = artefact_diff(of_scaled, saved(tmp_path, other))
    parts = {part.name: part for part in found.parts}
    assert parts["guards"].outcome == "the same"
    assert {name for name, part in parts.items() if part.differs} == {
        "function",
        "Forward_graph",
        "AFTER_POST_GRAD",
        "kernels",
    }
    assert any("aten.sin" in line for line in parts["Forward_graph"].lines)


def test_the_compilation_that_is_nearest_is_taken(of_scaled, tmp_path):
    torch._dynamo.reset()
    compiled = torch.compile(scaled, dynamic=False)
    with depyf.prepare_debug(str(tmp_path)):
        for size in (7, 4, 5):
            compiled(torch.ones(size, 3))
    found = artefact_diff(of_scaled, tmp_path)
    assert "scaled 0/1 " in found.titles[1] and found.equal


def test_what_only_one_has_is_no_difference(of_scaled, tmp_path):
    found = artefact_diff(of_scaled, saved(tmp_path, backend="aot_eager"))
    assert outcomes(found)["kernels"] == "only in 1"
    assert "kernels: only in 1" in found.not_compared
    assert found.not_compared[-1].startswith("torch's global state")


def test_the_command(of_scaled, tmp_path, capsys):
    assert main(["diff", str(of_scaled), str(of_scaled.parent / "dump")]) == ExitStatus.PROVEN
    assert "guards           the same" in capsys.readouterr().out
    file = saved(tmp_path, other)
    assert main(["diff", str(of_scaled), str(file), "-u", "--stage", "Forward_graph"]) == 1
    told = capsys.readouterr().out
    assert "--- 1/Forward_graph" in told and "kernels" not in told
    assert main(["diff", str(of_scaled), str(file), "--json"]) == 1
    data = json.loads(capsys.readouterr().out)
    assert data["equal"] is False and {part["part"] for part in data["parts"]} >= {"code", "guards", "kernels"}
    assert main(["diff", str(of_scaled), str(file), "--stage", "none"]) == ExitStatus.USAGE


def test_what_cannot_be_compared(of_scaled, tmp_path, capsys):
    damaged = tmp_path / "damaged"
    damaged.write_bytes(of_scaled.read_bytes()[:1000])
    assert main(["diff", str(of_scaled), str(damaged)]) == ExitStatus.UNREADABLE
    assert main(["diff", str(of_scaled), str(tmp_path)]) == ExitStatus.UNREADABLE
    torch._dynamo.reset()
    with depyf.prepare_debug(str(tmp_path / "dump")):
        torch.compile(other, backend="eager")(torch.ones(3))
    capsys.readouterr()
    assert main(["diff", str(of_scaled), str(tmp_path / "dump")]) == ExitStatus.UNREADABLE
    assert "the dump has no compilation of scaled" in capsys.readouterr().err


class Canary:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


def test_nothing_is_executed(of_scaled, tmp_path):
    canary = tmp_path / "canary"
    (tmp_path / "f").write_bytes(pickle.dumps([Canary(canary), of_scaled.read_bytes(), pickle.dumps(Canary(canary))]))
    artefact_diff(tmp_path / "f", of_scaled)
    assert not canary.exists()
