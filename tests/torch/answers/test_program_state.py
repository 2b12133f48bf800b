"""What ``depyf doctor --try`` and ``--fix`` compare of two runs, beside what compiled functions return."""

from __future__ import annotations

from pathlib import Path

import pytest

import depyf
from depyf.actions.doctor.trial import DoctorProgram, run_once

pytestmark = pytest.mark.torch

PROGRAM = """\
import logging
import sys
import beside
import torch
from torch import nn


class Trainer:
    made = 0

    def __init__(self):
        Trainer.made += 1
        self.count, self.net = 0, nn.Linear(2, 1)
        self.opt = torch.optim.SGD(self.net.parameters(), lr=0.1, momentum=0.9)

    def step(self, x):
        return self.net(x).sum()


def written(x):
    x.add_(1)
    if x.shape[0] == 3:
        raise ValueError("three")


class Counted(nn.Module):
    def __init__(self):
        super().__init__()
        self._seen, self.table, self.steps = [], torch.ones(2), 0

    def forward(self, x):
        self.steps += 1
        self._seen.append(self.steps)
        return x + self.table


def stepped(opt, log):
    log.append(opt.param_groups[0]["lr"])


def inside():
    # nothing of this is there when the program ends
    counted, log, calls = Counted(), [], 0
    counted_c = torch.compile(counted, backend="eager")
    one = nn.Linear(1, 1)
    opt = torch.optim.SGD(one.parameters(), lr=0.5)
    one(torch.ones(1)).backward()

    def count(x):
        nonlocal calls
        calls += 1
        return x.view(4)

    counted_c(torch.ones(2))
    torch.compile(stepped, backend="eager")(opt, log)
    torch.compile(count, backend="eager")(torch.ones(2, 2))
    beside.total += 1


def main():
    net = nn.Linear(2, 2)
    net_c = torch.compile(net, backend="eager")
    net_c(torch.ones(2)).sum().backward()
    with torch.no_grad():
        net.weight.fill_(7.0)


inside()
main()
print("by the program", file=sys.stderr)
trainer = Trainer()
step = torch.compile(trainer.step, backend="eager")
step(torch.ones(2)).backward()
trainer.opt.step()
trainer.count += 1
logging.warning("a %d", 1)
written_c = torch.compile(written, backend="eager")
written_c(torch.ones(2))
try:
    written_c(torch.ones(3))
except ValueError:
    pass
base = torch.zeros(2, 2)
written_c(base[0])


@torch.compile(backend="eager", fullgraph=True)
def refused(x):
    torch._dynamo.graph_break()
    return x


try:
    refused(torch.ones(1))
except Exception:
    pass
"""


def test_what_is_compared(tmp_path, monkeypatch):
    """Objects of the program, its optimizers, modules that are gone at the end, messages, arguments, exceptions."""
    monkeypatch.setenv("PYTHONPATH", str(Path(depyf.__file__).parents[1]))
    script = tmp_path / "p.py"
    script.write_text(PROGRAM)
    (tmp_path / "beside.py").write_text("total = 4\n")
    ran = run_once(
        DoctorProgram(str(script), (), False), (), tmp_path / "work", tmp_path / "dump", compare=True, shown=False
    )
    assert ran.status == 0, ran.problem
    state, calls = ran.state, ran.calls
    assert state["trainer.count"] == [1] and len(state["trainer.net.weight"]) == 1
    assert state["trainer.opt.param_groups[0]['lr']"] == [0.1]
    assert state["trainer.opt.state[0, 0]"][0]["shape"] == [1, 2], "the momentum"
    assert state["Linear.weight"][0]["values"] == [7.0] * 4 + [28.0, 28.0], "a module of a function that has returned"
    assert state["the messages that are logged"] == ["root WARNING: a 1"]
    assert {f"random numbers of {one}" for one in ("torch", "Python")} <= set(state)
    assert state["Trainer.made"] == [1] and state["beside.total"] == [5]
    assert state["what is written to standard error"] == ["by the program"]
    assert state["trainer.net.weight.grad"][0]["values"][:2] == [1.0, 1.0]
    assert state["torch.is_grad_enabled()"] == [True]
    assert [state[f"Counted.{one}"] for one in ("steps", "_seen")] == [[1], [1]], "a module that is gone"
    assert state["Counted.table"][0]["values"][:2] == [1.0, 1.0], "a tensor that is no buffer"
    assert state["calls in inside.<locals>.count"] == [1] and state["argument 1 of stepped"] == [0.5]
    assert state["argument 0 of stepped.params[0, 0].grad"][0]["values"][0] == 1.0
    assert calls["inside.<locals>.count"][0][1:] == ["result 0 lies in argument 0"]
    assert calls["refused"][0][0] == {"error": "Unsupported", "compiler": True}
    returned, raised, part = calls["written"]
    assert part[1] == "argument 0" and part[3]["values"][:4] == [1.0, 1.0, 0.0, 0.0], "what the view is a view of"
    assert returned[:2] == [None, "argument 0"] and returned[2]["values"] == [2.0, 2.0, 4.0, 4.0]
    assert raised[0] == {"error": "ValueError: three", "compiler": False} and raised[1] == "argument 0"
