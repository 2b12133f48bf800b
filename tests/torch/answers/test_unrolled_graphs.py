"""A graph that a loop makes long: doctor, index.md and JSON name the line, how often, and what to compile instead."""

from __future__ import annotations

import json

import pytest
import torch
from commands import python
from torch import nn

import depyf
from depyf.run.observations.all_observations import observations_of
from depyf.run.store.loading import load

pytestmark = pytest.mark.torch


class Cell(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(8, 4)

    def forward(self, x, h):
        c = torch.cat([x, h], -1)
        return torch.tanh(self.lin(c)) * h


class Steps(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = Cell()

    def forward(self, xs):
        h = torch.zeros_like(xs[0])
        for t in range(xs.shape[0]):
            h = self.cell(xs[t], h)
        return h


class Layers(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(*(nn.Sequential(nn.Linear(4, 4), nn.ReLU()) for _ in range(60)))

    def forward(self, x):
        return self.body(x).sum()


def in_while(x):
    n = 0
    while n < 40:
        x = torch.sin(x) * 2 + n
        n += 1
    return x


def short(x):
    for _ in range(10):
        x = x.sin() + 1
    return x


PROGRAMS = {
    "cell": (Steps(), torch.ones(40, 2, 4), "for t in range(xs.shape[0]):", "the loop is unrolled 40 times", "`self.cell`"),
    "sequential": (Layers(), torch.ones(2, 4), "return self.body(x).sum()", "unrolled 60 times", "what is repeated"),
    "while": (in_while, torch.ones(3), "while n < 40:", "the loop is unrolled 40 times", "body of the loop"),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_line_is_told(name, tmp_path):
    function, argument, line, text, way = PROGRAMS[name]
    torch._dynamo.reset()
    with depyf.prepare_debug(tmp_path / "dump"):
        torch.compile(function, backend="eager")(argument)
    (observation,) = observations_of(load(tmp_path / "dump"))
    assert (observation.place.filename, observation.place.text) == (__file__, line)
    assert text in observation.text and way in observation.ways[0]
    index = (tmp_path / "dump" / "index.md").read_text()
    assert text in index and "## Fix first" in index
    assert json.loads((tmp_path / "dump" / "manifest.json").read_text())["observations"] == [observation.to_json()]


def test_a_short_loop_is_nothing_to_fix(tmp_path):
    (tmp_path / "program.py").write_text(
        "import torch\ndef f(x):\n    for _ in range(10):\n        x = x.sin() + 1\n    return x\n"
        "torch.compile(f, backend='eager')(torch.ones(3))\n"
    )
    done = python("-m", "depyf", "doctor", "program.py", cwd=tmp_path)
    assert "Nothing to fix: " in done.stdout
    assert "(1 compilation, the largest of 20 operations, 1 of 1 results of torch.compile called)" in done.stdout


ORDER = """
import torch
@torch.compile(backend="eager")
def long(x):
    for _ in range(80):
        x = torch.tanh(x) * 2
    return x
@torch.compile(backend="eager")
def short(x):
    print("here")
    return x + 1
{calls}
"""


@pytest.mark.parametrize(
    "calls, first",
    [
        ("long(torch.ones(3)); short(torch.ones(3))", "the loop is unrolled 80 times"),
        ("for n in range(2, 9): long(torch.ones(*[2] * n))", "the rank of `x`"),
    ],
)
def test_what_takes_most_of_the_compiling_is_first(calls, first, tmp_path):
    """An unrolled loop before a cheap break; after the cause that compiles it many times."""
    (tmp_path / "program.py").write_text(ORDER.format(calls=calls))
    lines = python("-m", "depyf", "doctor", "program.py", cwd=tmp_path).stdout.splitlines()
    (number,) = (line for line in lines if line.startswith("1. "))
    assert first in number, lines
    assert sum(line.startswith("2. ") for line in lines) == 1
