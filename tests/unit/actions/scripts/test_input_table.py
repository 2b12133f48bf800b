"""The values that inputs of a graph have: in the range of what the program passed, as many as other sizes ask for."""

from __future__ import annotations

import math
import textwrap

import pytest

from depyf.actions.scripts.input_table import input_lines
from depyf.run.graphs.graph_text import read_graph
from depyf.run.store.earlier_pages import facts_in

IDS = 'ids: "i64[2, 8][8, 1]cpu"'
X = 'x: "f32[16, 4][4, 1]cpu"'


def lines_of(parameters, body, facts, symbols=None):
    """Input -> the expression that makes it."""
    page = f"class GraphModule(torch.nn.Module):\n    def forward(self, {', '.join(parameters)}):\n"
    graph = read_graph(page + textwrap.indent(body + "\nreturn ()", "        ") + "\n", "")
    assert graph is not None
    lines = [
        line.split("  # ")[0].rstrip(",")
        for line in input_lines(graph, facts_in(facts, "facts"), symbols or {}, frozenset())
    ]
    return dict(line.split(": ", 1) for line in lines)


def recorded(dtype, shape, low, high, role="input"):
    strides = [math.prod(shape[i + 1 :]) for i in range(len(shape))]
    tensor = {"dtype": f"torch.{dtype}", "size": [str(n) for n in shape], "shape": list(shape), "strides": strides}
    tensor["stride"] = [str(n) for n in strides]
    item = {"name": "x", "kind": "tensor", "role": role, "tensor": tensor}
    return item if low is None else {**item, "passed": [low, high]}


RANGES = [
    ("rows of a table", ("int64", (2, 8), 3.0, 49.0), "make.integers(2, 8, low=3, high=50)"),
    ("from zero", ("int32", (2,), 0.0, 6.0), "make.integers(2, high=7, dtype=torch.int32)"),
    ("all the same", ("int64", (2,), 1.0, 1.0), "make.integers(2, low=1, high=2)"),
    ("labels that a loss ignores", ("int64", (4,), -100.0, 5.0), "make.integers(4, low=-100, high=6)"),
    ("not recorded", ("int64", (2,), None, None), "make.integers(2, high=2)"),
    ("rounded", ("int64", (2,), 0.0, 2.0**63), "make.integers(2, high=2)"),
    ("bytes", ("uint8", (2,), 0.0, 255.0), "make.integers(2, high=256, dtype=torch.uint8)"),
    ("of both signs", ("float32", (2,), -3.25, 2.5), "make.normal(2)"),
    ("real, not recorded", ("float32", (2,), None, None), "make.normal(2)"),
    ("a logarithm is taken", ("float32", (2,), 0.012345, 7.0), "make.uniform(2, low=0.0124, high=7)"),
    ("negative", ("float64", (2,), -4.0, -1.0), "make.uniform(2, low=-4, high=-1, dtype=torch.float64)"),
    ("an arcsine is taken", ("float32", (2,), -0.5, 1.0), "make.uniform(2, low=-0.5, high=1)"),
    ("ones", ("float32", (2,), 1.0, 1.0), "make.uniform(2, low=0.5, high=1.5)"),
    ("minus ones", ("float32", (2,), -1.0, -1.0), "make.uniform(2, low=-1.5, high=-0.5)"),
    ("zeros", ("float32", (2,), 0.0, 0.0), "make.uniform(2, low=0, high=1)"),
    ("scale", ("float32", (2,), 1.0, 1.0, "parameter"), "make.uniform(2, low=0.5, high=1.5)"),
    ("variance", ("float32", (2,), 0.25, 4.0, "buffer"), "make.uniform(2, low=0.25, high=4)"),
    ("weight", ("float32", (4, 16), -0.5, 0.5, "parameter"), "make.normal(4, 16, scale=0.25)"),
    ("weight of a logarithm", ("float32", (4, 16), 1.0, 16.0, "parameter"), "make.uniform(4, 16, low=1, high=16)"),
    ("complex", ("complex64", (2,), None, None), "make.normal(2, dtype=torch.complex64)"),
    ("mask", ("bool", (2,), None, None), "make.booleans(2)"),
]  # fmt: skip


@pytest.mark.parametrize(("record", "want"), [case[1:] for case in RANGES], ids=[case[0] for case in RANGES])
def test_ranges(record, want):
    assert lines_of(["x"], "y = x + 1", {"inputs": [recorded(*record)]}) == {'"x"': want}


@pytest.mark.parametrize("low", ["0", [], {}, math.nan, math.inf, True])
def test_ranges_that_are_none(low):
    """A dump is data from elsewhere: what is no number makes no script with code in it."""
    for dtype in ("int64", "float32"):
        try:
            (made,) = lines_of(["x"], "y = x + 1", {"inputs": [recorded(dtype, (2,), low, low)]}).values()
        except (TypeError, ValueError, OverflowError):
            continue
        assert made.startswith(
            ("make.normal(2", "make.uniform(2, low=", "make.integers(2, low=", "make.integers(2, high=")
        )


MASKED = [
    ("as it is", "y = x.masked_scatter(m, s)", 8),
    ("broadcast", 'v: "b8[16, 4][4, 1]cpu" = b.expand(16, 4)\ny = x.masked_scatter(v, s)', 2),
    ("aten", "y = torch.ops.aten.masked_scatter.default(x, m, s)", 8),
    ("enough in the source", "y = x.masked_scatter(m, x)", None),
    ("computed", "v = x > 0\ny = x.masked_scatter(v, s)", None),
]


@pytest.mark.parametrize(("body", "most"), [case[1:] for case in MASKED], ids=[case[0] for case in MASKED])
def test_masks(body, most):
    parameters = [X, 'm: "b8[16, 4][4, 1]cpu"', 'b: "b8[16, 1][1, 1]cpu"', 's: "f32[8][1]cpu"']
    made = lines_of(parameters, body, {})
    assert ("most=" in made['"m"'] or "most=" in made['"b"']) == (most is not None)
    assert most is None or f"most={most})" in made['"m"'] + made['"b"']


STORED = [
    ("as it is", "x[m] = s", 8),
    ("in a tuple", "x[(m,)] = s", 8),
    ("whole rows", "x[r] = t", 3),
    ("one row for all", "x[r] = o", None),
    ("a number", "x[m] = 0.0", None),
    ("a method", "y = x.index_put((m,), s)", 8),
    ("aten", "y = torch.ops.aten.index_put.default(x, [r], t)", 3),
    ("computed", "v = x > 0\nx[v] = s", None),
]


@pytest.mark.parametrize(("body", "true"), [case[1:] for case in STORED], ids=[case[0] for case in STORED])
def test_masks_of_what_is_stored(body, true):
    """VITS: ``outputs[outside] = inputs[outside]``, the right side computed in another frame."""
    parameters = [X, 'm: "b8[16, 4][4, 1]cpu"', 'r: "b8[16][1]cpu"', 's: "f32[8][1]cpu"', 't: "f32[3, 4][4, 1]cpu"',
                  'o: "f32[1, 4][4, 1]cpu"']  # fmt: skip
    made = lines_of(parameters, body, {})
    assert ("true=" in made['"m"'] or "true=" in made['"r"']) == (true is not None)
    assert true is None or f"true={true})" in made['"m"'] + made['"r"']


def test_masks_of_whole_numbers():
    """None of their elements is true, which is not too many; what was recorded does not count then."""
    body = 'v: "b8[16, 4][4, 1]cpu" = i.bool()\ny = x.masked_scatter(v, s)'
    parameters = [X, 'i: "i64[16, 4][4, 1]cpu"', 's: "f32[8][1]cpu"']
    record = {**recorded("int64", (16, 4), 0.0, 1.0), "name": "i"}
    assert lines_of(parameters, body, {"inputs": [record]})['"i"'] == "make.integers(16, 4, high=1)"


def test_repeats_add_up():
    body = "y = x.repeat_interleave(r, dim = 0, output_size = 21)"
    record = {**recorded("int64", (16,), 1.0, 2.0), "name": "r"}
    made = lines_of([X, 'r: "i64[16][1]cpu"'], body, {"inputs": [record]})
    assert made['"r"'] == "make.integers(16, total=21)"
