"""What is said of values that torch cannot make dynamic, of optimizers, and of graphs with symbols among their inputs."""

from __future__ import annotations

import json

import pytest
import torch
from dumps import reasons_kept

import depyf
from depyf.run.places.line_remarks import commented

pytestmark = pytest.mark.torch


def unrolled(xs, k=2):
    for t in range(xs.size(0)):
        xs = xs + t * k
    return xs


@pytest.fixture
def of_two_sizes(tmp_path):
    torch._dynamo.reset()
    compiled = torch.compile(unrolled, backend="eager")
    with depyf.prepare_debug(tmp_path):
        for size in (5, 3):
            compiled(torch.ones(size))
    return compiled


def test_a_size_that_is_needed_while_compiling(of_two_sizes, tmp_path):
    entries = [e for f in json.loads((tmp_path / "manifest.json").read_text())["functions"] for e in f["entries"]]
    told = [a["text"] for entry in entries for r in entry["recompiled_because"] for a in r["advice"]]
    report = depyf.explain(of_two_sizes)
    told += [entry.advice for entry in report.entries if entry.advice]
    told += [refusal.advice for refusal in depyf.why(of_two_sizes, torch.ones(4)).refusals]
    assert len(told) == (4 if reasons_kept() else 3)
    for advice in told:
        assert "xs.size()[0]" in advice and "one entry per value" in advice and "mark_dynamic" not in advice


def test_a_size_that_may_be_dynamic(tmp_path):
    torch._dynamo.reset()
    compiled = torch.compile(lambda x: x + 1, backend="eager")
    for size in (5, 3):
        compiled(torch.ones(size))
    told = [entry.advice for entry in depyf.explain(compiled).entries if entry.advice]
    assert len(told) == reasons_kept() and all("mark_dynamic(x, 0)" in advice for advice in told)


def test_a_number_of_another_class(of_two_sizes, tmp_path):
    answers = depyf.why(of_two_sizes, torch.ones(5), 3.5).refusals
    with depyf.prepare_debug(tmp_path / "again"):
        of_two_sizes(torch.ones(5), 3.5)
    wanted = "let k be an int in every call, or a float in every call"
    told = [part.advice for refusal in answers for part in refusal.differences if part.about == "k"]
    assert told == [wanted] * len(answers)
    assert wanted in (tmp_path / "again" / "index.md").read_text()


def test_the_first_step_of_an_optimizer(tmp_path):
    torch._dynamo.reset()
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    step = torch.compile(optimizer.step, backend="eager")
    with depyf.prepare_debug(tmp_path):
        for _ in range(3):
            model(torch.ones(1, 2)).sum().backward()
            step()
    index = (tmp_path / "index.md").read_text()
    assert "an optimizer makes the state of a parameter in its first step" in index and "keep len(" not in index


class Scale(torch.nn.Module):
    def __init__(self, k):
        super().__init__()
        self.k, self.linear = k, torch.nn.Linear(2, 2)

    def forward(this, x):
        return this.linear(x) * this.k


def test_a_number_of_a_module_whatever_it_calls_itself():
    torch._dynamo.reset()
    for k in (2, 3):
        compiled = torch.compile(Scale(k), backend="eager")
        compiled(torch.ones(1, 2))
    told = [entry.advice for entry in depyf.explain(compiled).entries if entry.advice]
    assert (
        told
        == [
            "torch._dynamo.config.allow_unspec_int_on_nn_module = True (for this.k); or "
            "keep this.k as a tensor (register_buffer)"
        ]
        * reasons_kept()
    )


class Gate:
    def __init__(self, optimizer):
        self.optimizer = optimizer


gate = Gate(None)


def passes_on(x):
    torch._dynamo.graph_break()
    return gate.optimizer


def test_a_resume_function_without_tensors():
    torch._dynamo.reset()
    compiled = torch.compile(passes_on, backend="eager")
    compiled(torch.ones(2))
    report = depyf.explain(compiled)
    assert "it was never called" not in str(report)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_symbols_among_the_inputs(backend, tmp_path):
    torch._dynamo.reset()
    compiled = torch.compile(lambda x, n: x.reshape(-1, 2) * n + x.shape[0], backend=backend, dynamic=True)
    with depyf.prepare_debug(tmp_path):
        for n in (2, 3):
            compiled(torch.ones(4, 6), n)
    files = json.loads((tmp_path / "manifest.json").read_text())["files"]
    runs = "Captured_Graph" if backend == "eager" else "Forward_graph"
    found = [item["steppable"] for item in files if item["kind"] == "graph" and runs in item["file"]]
    assert found and all(found)


def test_written_back():
    text = "def f():\n    self = self\n    other = self\n    x = 1\n"
    assert commented(text, ((2, 7),), "/a/b.py").splitlines()[1:] == [
        "    self = self  # b.py:7, torch writes self back as it is",
        "    other = self",
        "    x = 1",
    ]


def test_what_nobody_would_write():
    text = (
        "def f():\n    if 0: shared = lambda: (a, b)\n    if 0: c = d = None\n    if 0: yield\n"
        "    r((__cell_a, __cell_b))(\n        __cell_a, 1\n    )\n    if 0: x = '#'\n"
    )
    assert commented(text, ((5, 7),), "/a/b.py").splitlines()[1:] == [
        "    if 0: shared = lambda: (a, b)  # never runs: makes a, b shared with other functions",
        "    if 0: c = d = None  # never runs: makes it a local variable",
        "    if 0: yield  # never runs: makes this a generator",
        "    r((__cell_a, __cell_b))(  # b.py:7, __cell_a: the cell that holds a, __cell_b: the cell that holds b",
        "        __cell_a, 1",
        "    )",
        "    if 0: x = '#'",
    ]


def branches(x):
    if x.sum() > 0:
        return x + 1
    return x - 1


def test_both_ways_behind_a_test_are_told_apart(tmp_path):
    torch._dynamo.reset()
    compiled = torch.compile(branches, backend="eager")
    with depyf.prepare_debug(tmp_path):
        compiled(torch.ones(2))
        compiled(-torch.ones(2))
    page = (tmp_path / "full_code_for_branches_0.py").read_text()
    listed = [
        line.split("): ")[1] for line in page.splitlines() if line.startswith("  torch_dynamo_resume_in_branches")
    ]
    assert listed == ["1/0", "2/0"]
