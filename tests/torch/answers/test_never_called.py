"""A torch.compile whose result is never called is told with its line; what is called in any way is not."""

from __future__ import annotations

import copy
import functools
import io
import json
import pickle

import pytest
import torch
from commands import python

import depyf
from depyf.run.observations.all_observations import observations_of
from depyf.run.observations.observation import ObservationKind
from depyf.run.store.loading import load
from depyf.views.pages.markdown import message

pytestmark = pytest.mark.torch

HEAD = """
import copy, functools, torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 4)
    def load(self):
        self = torch.compile(self, backend="eager")  # Net.load
    def forward(self, x):
        return self.lin(x).relu()
    def generate(self, x):
        return self(x)
def f(x):
    return x.sin()
def prepare(model):
    model = torch.compile(model, backend="eager")  # prepare
x = torch.ones(2, 4)
"""
NEVER = {
    "self": ("net = Net(); net.load(); net(x)", "# Net.load", "thrown away"),
    "helper": ("net = Net(); prepare(net); net(x)", "# prepare", "thrown away"),
    "unused": ("fast = torch.compile(f, backend='eager')  # here\nf(x)", "# here", "was never called"),
    "decorator": ("@torch.compile(backend='eager')  # here\ndef g(x):\n    return x\n", "# here", "was never called"),
    "forward": (
        "net = Net()\nnet.compile(backend='eager')  # here\nnet.forward(x)",
        "# here",
        "never called as a module",
    ),
    "method": ("net = torch.compile(Net(), backend='eager')  # here\nnet.generate(x)", "# here", "was never called"),
    "in a loop": (
        "nets = [Net() for _ in range(3)]\nfor net in nets:\n    torch.compile(net, backend='eager')  # here\nnets[0](x)",
        "# here",
        "3 results",
    ),
    "one of two": (
        "g = torch.compile(f, backend='eager')\nh = torch.compile(lambda x: x, backend='eager')  # here\ng(x)",
        "# here",
        "was never called",
    ),
}
CALLED = {
    "module": "torch.compile(Net(), backend='eager')(x)",
    "in place": "net = Net(); net.compile(backend='eager'); net(x)",
    "inside another": "g = torch.compile(f, backend='eager')\ntorch.compile(lambda x: g(x) + 1, backend='eager')(x)",
    "module inside another": (
        "net = torch.compile(Net(), backend='eager')\ntorch.compile(lambda x: net(x) + 1, backend='eager')(x)"
    ),
    "a copy": "copy.deepcopy(torch.compile(Net(), backend='eager'))(x)",
    "partial": "functools.partial(torch.compile(f, backend='eager'), x)()",
    "of torch": "torch.compile(torch.nn.functional.relu, backend='eager')(x)",
    "a submodule": "net = Net(); net.lin = torch.compile(net.lin, backend='eager'); net(x)",
    "in eager mode": "g = torch.compile(f, backend='eager')\nwith torch.compiler.set_stance('force_eager'): g(x)",
}


def recorded(text, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(HEAD + text + "\n")
    torch._dynamo.reset()
    names = {"__name__": "program"}
    with depyf.prepare_debug(tmp_path / "dump"):
        exec(compile(program.read_text(), str(program), "exec"), names)
    run = load(tmp_path / "dump")
    lines = program.read_text().splitlines()
    return run, [f for f in observations_of(run) if f.kind is ObservationKind.NEVER_CALLED], lines


@pytest.mark.parametrize("name", NEVER)
def test_never_called(name, tmp_path):
    text, mark, said = NEVER[name]
    _, found, lines = recorded(text, tmp_path)
    (observation,) = found
    assert lines[observation.place.line - 1].endswith(mark) and said in observation.text and observation.ways
    assert message(observation.text) in (tmp_path / "dump" / "index.md").read_text()
    page = json.loads((tmp_path / "dump" / "manifest.json").read_text())
    assert observation.to_json() in page["observations"]


@pytest.mark.parametrize("name", CALLED)
def test_called(name, tmp_path):
    run, found, _ = recorded(CALLED[name], tmp_path)
    assert not found and run.compile_calls


def test_doctor_and_run(tmp_path):
    (tmp_path / "program.py").write_text(HEAD + NEVER["self"][0])
    for command in (("doctor",), ("run", "--out", "dump")):
        done = python("-m", "depyf", *command, "program.py", cwd=tmp_path)
        assert "program.py:9 `self = torch.compile(self" in done.stdout + done.stderr
        assert "was never called" in done.stdout + done.stderr
        assert done.returncode == (1 if command == ("doctor",) else 0)


def hooks(compiled):
    context = compiled.dynamo_ctx if hasattr(compiled, "dynamo_ctx") else None
    return None if context is None else list(map(type, context.enter_exit_hooks))


def test_nothing_of_ours_stays(tmp_path):
    """In torch's class, in what was called, in what was not, in copies of both."""
    from torch._dynamo import eval_frame

    class Net(torch.nn.Module):
        def forward(self, x):
            return x + 1

    before = vars(eval_frame._TorchDynamoContext)["__call__"]
    plain = hooks(torch.compile(Net(), backend="eager"))
    with depyf.prepare_debug(tmp_path / "dump"):
        called, silent = (torch.compile(Net(), backend="eager") for _ in range(2))
        copied = copy.deepcopy(silent)
        called(torch.ones(2))
        assert hooks(called) == plain
    assert vars(eval_frame._TorchDynamoContext)["__call__"] is before
    assert hooks(called) == hooks(silent) == hooks(copied) == plain
    assert torch.equal(copied(torch.ones(2)), torch.full((2,), 2.0))


class Saved(torch.nn.Module):
    def forward(self, x):
        return x + 1


def test_a_compiled_module_is_saved_as_before(tmp_path):
    with depyf.prepare_debug(tmp_path / "dump"):
        made = torch.compile(Saved(), backend="eager")
        torch.save(made.state_dict(), io.BytesIO())
        text = pickle.dumps(made)
    assert b"depyf" not in text


def test_the_program_gets_what_torch_made(tmp_path):
    """Its errors, too."""
    with depyf.prepare_debug(tmp_path / "dump"):
        compiled = torch.compile(functools.partial(torch.add, 1), backend="eager")
        with pytest.raises((AssertionError, RuntimeError, TypeError)):
            torch.compile(3, backend="eager")
    assert torch.equal(compiled(torch.ones(2)), torch.full((2,), 2.0))
