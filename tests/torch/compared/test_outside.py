"""Calls that write files, start programs or send messages are named, and not made: nothing could take that back."""

from __future__ import annotations

import os
import pathlib
import queue
import sqlite3
import subprocess
import threading

import pytest
import torch
from torch import nn

import depyf

pytestmark = pytest.mark.torch
ONE = torch.ones(2)
FILE = pathlib.Path("/nowhere/depyf.txt")
TABLE = sqlite3.connect(":memory:", check_same_thread=False)
SENT: queue.Queue = queue.Queue()


def appends(x):
    with open(FILE, "a") as out:
        out.write("1")
    return x + 1


def writes_text(x):
    FILE.write_text("1")
    return x + 1


def opens_path(x):
    with FILE.open("w") as out:
        out.write("1")
    return x + 1


def starts(x):
    subprocess.run(["true"], check=True)
    return x + 1


def of_the_system(x):
    os.system("true")
    return x + 1


def saves(x):
    torch.save(x, FILE)
    return x + 1


def inserts(x):
    TABLE.execute("select 1")
    return x + 1


class Logger:
    def record(self, x):
        self.keep(x)

    def keep(self, x):
        os.makedirs("/nowhere/depyf")


logger = Logger()


def by_a_method(x):
    logger.record(x)
    return x + 1


@torch._dynamo.disable
def helper(x):
    return appends(x)


def by_a_function(x):
    return helper(x) * 2


@pytest.mark.parametrize(
    ("function", "named"),
    [
        (appends, "open() of a file to write"),
        (writes_text, "write_text() of a path"),
        (opens_path, "open() of a file to write"),
        (starts, "subprocess.run()"),
        (of_the_system, "os.system()"),
        (saves, "torch.save()"),
        (inserts, "TABLE, a database"),
        (by_a_method, "os.makedirs()"),
        (by_a_function, "open() of a file to write"),
    ],
)
def test_it_is_not_run(function, named, monkeypatch):
    result = depyf.compare(function, ONE, backend="aot_eager")
    assert not result and f"nothing was run: the call can reach {named}" in str(result), str(result)


def test_a_queue_is_one_of_threads_while_there_are_others():
    def puts(x):
        SENT.put(1)
        return x + 1

    ended = threading.Event()
    thread = threading.Thread(target=ended.wait)
    thread.start()
    try:
        result = depyf.compare(puts, ONE, backend="aot_eager")
    finally:
        ended.set()
        thread.join()
    assert "SENT, a queue that other threads may read" in str(result) and SENT.empty(), str(result)


class Model(nn.Module):
    """With methods that a call does not make."""

    def save(self, folder):
        torch.save(self.state_dict(), folder)

    def log(self, line):
        with open(FILE, "w") as out:
            out.write(line)

    def __call__(self, x):
        if self.training is None:
            self.log("compiled ahead")
        return super().__call__(x)

    def forward(self, x, name="a"):
        return x * len(name.replace("a", "b"))


def reads(x):
    with open(__file__) as text:
        return x + len(text.readline())


@pytest.mark.parametrize("function", [Model().forward, reads], ids=["methods", "reads"])
def test_what_a_call_does_not_do_is_no_reason(function):
    result = depyf.compare(function, ONE, backend="aot_eager")
    assert result.python.ran, str(result)


def test_hooks_of_parameters_are_followed():
    """An optimizer that steps in the backward: what its hooks change is put back, and compared."""
    torch.manual_seed(0)
    model, seen = nn.Linear(3, 1), []
    optimizers = {name: torch.optim.SGD([p], lr=0.1, momentum=0.9) for name, p in model.named_parameters()}

    def hook(name):
        def step(parameter):
            seen.append(1)
            optimizers[name].step()
            optimizers[name].zero_grad()

        return step

    for name, parameter in model.named_parameters():  # the hooks run in no fixed order
        parameter.register_post_accumulate_grad_hook(hook(name))

    def train(x):
        loss = model(x).pow(2).sum()
        loss.backward()
        return loss.detach()

    x = torch.ones(4, 3)
    train(x)

    def state():
        buffers = [optimizers[name].state[p]["momentum_buffer"].tolist() for name, p in model.named_parameters()]
        return [p.tolist() for p in model.parameters()], buffers, list(seen)

    before = state()
    result = depyf.compare(train, x, backend="aot_eager")
    assert result, str(result)
    assert state() == before
