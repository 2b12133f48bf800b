"""``depyf.explain`` of an object: what is compiled by itself inside it, and what torch's wrappers stand for."""

from __future__ import annotations

import json

import pytest
import torch
from torch import nn

import depyf

pytestmark = pytest.mark.torch


class Block(nn.Module):
    def __init__(self, width=4):
        super().__init__()
        self.lin = nn.Linear(4, width)

    def forward(self, x):
        return torch.relu(self.lin(x))


class Net(nn.Module):
    def __init__(self, blocks):
        super().__init__()
        self.layers = nn.ModuleList(blocks)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()


def of_torch(width=4):
    return nn.Sequential(nn.Linear(4, width), nn.ReLU(), nn.Linear(width, 4))


def test_blocks_compiled_in_place():
    model = Net(Block() for _ in range(3))
    for block in model.layers:
        block.compile(backend="eager")
    with torch.no_grad():
        model(torch.ones(2, 4))
    report = depyf.explain(model)
    text = str(report)
    assert "compiled inside: 3 modules (Block: layers.0, layers.1, layers.2)" in text, text
    assert text.startswith("Net.forward") and "1 compilation, 1 graph" in text and "nothing is compiled" not in text
    (inside,) = report.inside
    assert inside.function == "Block.forward" and len(inside.entries) == 1
    (part,) = json.loads(json.dumps(report.to_json()))["parts"]
    assert part["paths"] == ["layers.0", "layers.1", "layers.2"] and part["compile_ids"] == ["0/0"] and part["in_place"]
    assert "compiled inside: 3 modules" in report._repr_html_()


def test_blocks_of_torch_compiled_in_place_are_passed_over():
    """torch before 2.15 compiles no ``Sequential.forward`` that it calls itself: nothing of these is compiled."""
    model = nn.Sequential(of_torch(), of_torch(), of_torch())
    made = []
    for block in model:
        block.compile(backend=lambda graph, inputs: made.append(graph) or graph.forward)
    model(torch.ones(2, 4))
    text = str(depyf.explain(model))
    passed_over = "compile() was called on 3 modules (Sequential: 0, 1, 2); torch has no compiled code for them" in text
    assert passed_over is not bool(made), text
    assert ("torch.compile(module) in its place compiles it" in text) is passed_over


def test_children_that_torch_compile_wrapped_are_told_apart():
    """All of them run torch's one wrapper; each entry is of a module."""
    model = Net(of_torch(width) for width in (4, 5, 6))
    other = torch.compile(of_torch(7), backend="eager")
    for at in range(3):
        model.layers[at] = torch.compile(model.layers[at], backend="eager")
    with torch.no_grad():
        other(torch.ones(2, 4))
        model(torch.ones(2, 4))
    report = depyf.explain(model)
    text = str(report)
    assert "compiled inside: 3 modules (Sequential: layers.0, layers.1, layers.2)" in text, text
    assert "layers.0, layers.1 and layers.2 (Sequential)" in text and "wrap_inline" not in text and "fn." not in text
    (inside,) = report.inside
    assert [entry.compile_id for entry in inside.entries] == ["0/3", "0/2", "0/1"], "0/0 is of another module"
    alone = depyf.explain(other)
    assert alone.function == "Sequential" and [entry.compile_id for entry in alone.entries] == ["0/0"]
    (entry,) = depyf.explain(model.layers[1]).entries
    assert entry.compile_id == "0/2" and entry.record.wrapped == "Sequential"


def test_a_module_that_runs_the_entry_of_another_one():
    first, second = (torch.compile(of_torch(), backend="eager") for _ in range(2))
    with torch.no_grad():
        first(torch.ones(2, 4))
        second(torch.ones(2, 4))
    assert [entry.compile_id for entry in depyf.explain(second).entries] == ["0/0"]


def test_an_entry_stays_with_its_module_when_that_is_in_another_mode():
    dropout = torch.compile(nn.Sequential(nn.Linear(4, 4), nn.Dropout()), backend="eager")
    dropout(torch.ones(2, 4))
    dropout.eval()
    assert [entry.compile_id for entry in depyf.explain(dropout).entries] == ["0/0"]


def test_what_was_never_called():
    model = Net([Block()])
    model.layers[0].compile(backend="eager")
    text = str(depyf.explain(model))
    assert "compile() was called on 1 module (Block: layers.0); torch has no compiled code for it (never called" in text
    assert "nothing is compiled" in str(depyf.explain(Net([Block()])))


@pytest.mark.parametrize("name", ["SGD", "AdamW", "RMSprop"])
@pytest.mark.parametrize("kept", [True, False])
def test_an_optimizer(name, kept):
    """Its step is compiled inside torch's wrapper of it, and the break between the two is torch's own."""
    parameters = [nn.Parameter(torch.ones(3))]
    parameters[0].grad = torch.ones(3)
    optimizer = getattr(torch.optim, name)(parameters, lr=0.1)
    step = torch.compile(optimizer.step, backend="eager")
    if kept:
        optimizer.step = step
    for _ in range(2):
        step()
    report = depyf.explain(optimizer if kept else step)
    text = str(report)
    assert report.function == f"{name}.step" and [part.function for part in report.inside] == [f"{name}.step"]
    assert "torch's own, nothing to change: 1 graph break" in text and "Remove the" not in text, text


class Stepped:
    def __init__(self):
        self.parameter = nn.Parameter(torch.ones(3))
        self.optimizer = torch.optim.SGD([self.parameter], lr=0.1, momentum=0.9)

    def step(self):
        self.optimizer.step()

    def asked(self, x):
        y = x + 1
        torch._dynamo.graph_break()
        return y * 2


def steps(stepped, kind):
    """A function that steps an optimizer, which it reaches in one of several ways."""
    optimizer = stepped.optimizer
    found = {"method": stepped.step, "closure": lambda: optimizer.step()}
    globals()["GLOBAL"] = optimizer
    return {**found, "global": step_of_global}[kind]


def step_of_global():
    GLOBAL.step()  # noqa: F821


@pytest.mark.parametrize("kind", ["method", "closure", "global"])
def test_a_break_that_an_optimizer_asks_for_is_not_the_programs(kind):
    stepped = Stepped()
    step = torch.compile(steps(stepped, kind), backend="eager")
    for _ in range(2):
        (stepped.parameter * 2).sum().backward()
        step()
    text = str(depyf.explain(step))
    assert "torch's own, nothing to change: 1 graph break" in text, text
    assert "graph_break()" not in text.partition("Call tree")[0], text
    assert "the first step of an optimizer makes its state" in text and "keep len(" not in text, text


def test_a_break_that_the_program_asks_for_is_its_own():
    asked = torch.compile(Stepped().asked, backend="eager")
    asked(torch.ones(3))
    assert "way out: remove the call of torch._dynamo.graph_break()" in str(depyf.explain(asked))


class Trainer:
    def __init__(self):
        self.model = torch.compile(Block(), backend="eager")
        self.loss = torch.compile(self._loss, backend="eager")
        self.unused = torch.compile(Block(), backend="eager")

    def _loss(self, y):
        return y.sum()

    @torch.compile(backend="eager")
    def tick(self, x):
        return x + 1


def test_an_object_of_the_program():
    trainer = Trainer()
    trainer.loss(trainer.model(torch.ones(2, 4)))
    trainer.tick(torch.ones(2))
    report = depyf.explain(trainer)
    assert report.function == "Trainer" and str(report).startswith("Trainer: 3 compilations")
    assert {part.function for part in report.inside} == {"Block.forward", "Trainer._loss", "Trainer.tick"}
    assert {path for part in report.to_json()["parts"] for path in part["paths"]} == {"model", "loss", "unused", "tick"}
    with pytest.raises(depyf.DepyfError, match="has no Python bytecode"):
        depyf.explain(object())


def test_observations_are_told_as_json():
    def steps(x):
        for _ in range(60):
            x = torch.sin(x) * 2
        return x

    compiled = torch.compile(steps, backend="eager")
    compiled(torch.ones(2))
    (found,) = depyf.explain(compiled).to_json()["observations"]
    assert found["kind"] == "unrolled loop" and "60 times" in found["text"] and found["line"].startswith("for _ in")
