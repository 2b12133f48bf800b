"""Each answer in a notebook calls a cell by its number and its line; the name of IPython's file is nowhere."""

from __future__ import annotations

import linecache
import warnings

import pytest
import torch

import depyf
from depyf.run.places.cell_places import with_cells
from depyf.sources.live import notebook_cells

pytestmark = pytest.mark.torch
CELL = "/tmp/ipykernel_77/1234567.py"
TEXT = """import torch
def net(x, n):
    y = torch.relu(x) * n
    torch._dynamo.graph_break()
    return y + n
"""


@pytest.fixture
def net(monkeypatch):
    monkeypatch.setattr(notebook_cells, "_numbers", lambda: {CELL: 5})
    monkeypatch.setitem(linecache.cache, CELL, (len(TEXT), None, TEXT.splitlines(True), CELL))
    space = {"__name__": "__main__"}
    exec(compile(TEXT, CELL, "exec"), space)
    torch._dynamo.reset()
    return torch.compile(space["net"], backend="eager")


def of_explain(net, x):
    net(x, 2)
    return depyf.explain(net)


def of_why(net, x):
    net(x, 2)
    return depyf.why(net, x.double(), 3)


def of_watch(net, x):
    with depyf.watch() as watched:
        net(x, 2)
        net(x, 3)
    return watched


def of_compare(net, x):
    return depyf.compare(net, x, 2)


@pytest.mark.parametrize("ask", [of_explain, of_why, of_watch, of_compare])
def test_cells_have_their_numbers(net, ask):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        answer = ask(net, torch.ones(3))
    for text in (str(answer), answer._repr_html_()):
        assert "ipykernel" not in text and "1234567" not in text
        assert "In [5], line " in text and "In [5]:" not in text


def test_names_in_a_text():
    cells = (("<ipython-input-3-abc>", "In [3]"), (CELL, "In [5]"))
    assert with_cells(f"{CELL}:8 and 1234567.py:9, In [5]:10; {CELL}", cells) == (
        "In [5], line 8 and In [5], line 9, In [5], line 10; In [5]"
    )
    assert with_cells("train_1234567.py:2", cells) == "train_1234567.py:2"
    assert with_cells("&lt;ipython-input-3-abc&gt;:2 a.py:3", cells) == "In [3], line 2 a.py:3"
