"""What ``depyf doctor --try`` and ``--fix`` compare of two runs, beside what compiled functions return."""

from __future__ import annotations

from pathlib import Path

import pytest

import depyf
from depyf.actions.doctor.trial import DoctorProgram, run_once

pytestmark = pytest.mark.torch

PROGRAM = """\
import logging
import torch
from torch import nn


class Trainer:
    def __init__(self):
        self.count, self.net = 0, nn.Linear(2, 1)
        self.opt = torch.optim.SGD(self.net.parameters(), lr=0.1, momentum=0.9)

    def step(self, x):
        return self.net(x).sum()


def written(x):
    x.add_(1)
    if x.shape[0] == 3:
        raise ValueError("three")


def main():
    net = nn.Linear(2, 2)
    net_c = torch.compile(net, backend="eager")
    net_c(torch.ones(2)).sum().backward()
    with torch.no_grad():
        net.weight.fill_(7.0)


main()
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
"""


def test_what_is_compared(tmp_path, monkeypatch):
    """Objects of the program, its optimizers, modules that are gone at the end, messages, arguments, exceptions."""
    monkeypatch.setenv("PYTHONPATH", str(Path(depyf.__file__).parents[1]))
    script = tmp_path / "p.py"
    script.write_text(PROGRAM)
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
    returned, raised = calls["written"]
    assert returned[:2] == [None, "argument 0"] and returned[2]["values"] == [2.0, 2.0, 4.0, 4.0]
    assert raised[0] == {"error": "ValueError: three"} and raised[1] == "argument 0"
