"""The values that inputs of a graph may have."""

from __future__ import annotations

import textwrap

import pytest

from depyf.dump.graphs.graph_text import read_graph
from depyf.dump.graphs.value_types import tensor_type
from depyf.gallery.intervals import Span
from depyf.gallery.ranges import choose

IDS, MASK, X = 'ids: "i64[2, 8][8, 1]cpu"', 'mask: "i64[2, 8][8, 1]cpu"', 'x: "f32[16, 4][4, 1]cpu"'
TABLE = 'w: "f32[50, 4][4, 1]cpu"'
LABELS, LOGITS = 'labels: "i64[16][1]cpu"', 'logits: "f32[16, 7][7, 1]cpu"'
CASES = [
    ("embedding", [IDS, TABLE], "e = torch.nn.functional.embedding(ids, w, None)", {"ids": (0, 49)}),
    ("aten", [IDS, TABLE], "e = torch.ops.aten.embedding.default(w, ids)", {"ids": (0, 49)}),
    ("shifted", [IDS, TABLE], "p = ids + 2\ne = torch.nn.functional.embedding(p, w)", {"ids": (0, 9)}),
    ("through views", [IDS, TABLE], "v = ids.view(-1)\nl = v.long()\ne = torch.nn.functional.embedding(l, w)",
     {"ids": (0, 49)}),
    ("positions from a mask", [MASK, TABLE], "c = mask.cumsum(-1)\np = c - 1\nq = p.clamp(min = 0)\ne = torch.nn.functional.embedding(q, w)",
     {"mask": (0, 1)}),
    ("two tables, the smaller wins", [IDS, TABLE, 't: "f32[3, 4][4, 1]cpu"'],
     "e = torch.nn.functional.embedding(ids, w)\nf = torch.nn.functional.embedding(ids, t)", {"ids": (0, 2)}),
    ("padding decides", ['ids: "i64[2, 90][90, 1]cpu"', TABLE],
     'n = ids.ne(1)\nm: "i32[2, 90][90, 1]cpu" = n.int()\nc: "i64[2, 90][90, 1]cpu" = torch.cumsum(m, dim = 1)\n'
     "i = c * m\np = i + 1\ne = torch.nn.functional.embedding(p, w)", {"ids": (1, 1)}),
    ("subscript", [X, 'i: "i64[5][1]cpu"'], "y = x[i]", {"i": (0, 15)}),
    ("subscript of the second dimension", [X, 'i: "i64[5][1]cpu"'], "y = x[(slice(None, None, None), i)]", {"i": (0, 3)}),
    ("gather", [X, 'i: "i64[16, 2][2, 1]cpu"'], "y = x.gather(1, i)", {"i": (0, 3)}),
    ("scatter", [X, 'i: "i64[16, 2][2, 1]cpu"'], "y = x.scatter_add(-1, i, x)", {"i": (0, 3)}),
    ("index_select", [X, 'i: "i64[16][1]cpu"'], "y = torch.index_select(x, 0, i)", {"i": (0, 15)}),
    ("one_hot", ['i: "i64[9][1]cpu"'], "y = torch.nn.functional.one_hot(i, 6)", {"i": (0, 5)}),
    ("labels", [LOGITS, LABELS], "l = torch.nn.functional.cross_entropy(logits, labels)", {"labels": (0, 6)}),
    ("labels with padding", [LOGITS, LABELS],
     "p = torch._C._nn.pad(labels, (0, 1), 'constant', -100)\nq: \"i64[16][1]cpu\" = p[slice(1, None, None)]\n"
     "l = torch.nn.functional.cross_entropy(logits, q, ignore_index = -100)", {"labels": (0, 6)}),
    ("remainder", [IDS, TABLE], "h = ids % 50\ne = torch.nn.functional.embedding(h, w)", {"ids": None}),
    ("symbol", ['s: "Sym(s0)"', 'i: "i64[3][1]cpu"', 'x: "f32[s0, 2][2, 1]cpu"'], "y = x[i]", {"i": (0, 10)}),
    ("divided by", [X, 'i: "i64[4, 2][2, 1]cpu"'],
     's: "i64[4][2]cpu" = i[(Ellipsis, 1)]\nn: "i64[4][1]cpu" = torch.stack([s], -1)\ny = x / n', {"i": (1, 10)}),
    ("divided by in place", [X, 'i: "i64[4][1]cpu"', 'j: "i64[4][1]cpu"', 'k: "i64[4][1]cpu"'],
     "x /= i\ny = x.div_(j)\nz = x[k]", {"i": (1, 16), "j": (1, 16), "k": (0, 15)}),
    ("divided by something negative", [X, 'i: "i64[4][1]cpu"'],
     'n: "i64[4][1]cpu" = i.clamp(-5, -1)\ny = x // n', {"i": None}),
    ("divided by what was clamped", [X, 'i: "i64[4][1]cpu"'], 'n: "i64[4][1]cpu" = i.clamp(min = 1)\ny = x % n', {"i": None}),
    ("asserted", [X, IDS], "m = x.min()\nc = m >= 0\na = torch._assert_async(c, 'no')\nd = ids > 0\ne = d.all()\nb = torch._assert_async(e)",
     {"x": (0.5, 1.5), "ids": (1, 10)}),
    ("asserted of sizes", [X, IDS], "v = x.abs()\nc = v < 1\nd = c.all()\na = torch._assert_async(d)\ne = ids != 0\nf = e.any()", {"x": (0.05, 0.95), "ids": None}),
    ("asserted of what is not known", [X], "s = x.std()\nc = s == 1\na = torch._assert_async(c)", {"x": "any"}),
    ("unbounded", [IDS], "y = ids == 0", {"ids": None}),
    ("logarithm", [X], "y = torch.log(x)", {"x": (0.5, 1.5)}),
    ("logarithm of a square", [X], "z = x * x\nq = x.pow(2)\ny = torch.sqrt(q)", {"x": "any"}),
    ("root of a sum", [X], "z = x + 1.5\ny = z.rsqrt()", {"x": (0.5, 1.5)}),
    ("probabilities", [X, 't: "f32[16, 4][4, 1]cpu"'], "l = torch.nn.functional.binary_cross_entropy(x, t)",
     {"x": (0.05, 0.95), "t": (0.05, 0.95)}),
    ("after a sigmoid", [X], "p = x.sigmoid()\nl = torch.log(p)", {"x": "any"}),
]  # fmt: skip


@pytest.mark.parametrize(("parameters", "body", "want"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_choice(parameters, body, want):
    page = f"class GraphModule(torch.nn.Module):\n    def forward(self, {', '.join(parameters)}):\n"
    page += textwrap.indent(body + "\nreturn ()", "        ") + "\n"
    graph = read_graph(page, "")
    assert graph is not None
    symbols = {"s0": 11}
    types = {p.name: kind for p in graph.parameters if (kind := tensor_type(p.type, symbols)) is not None}
    choices = choose(graph, types, symbols)
    for name, expected in want.items():
        choice = choices[name]
        if expected == "any":
            assert choice.span is None, choice
        elif expected is None:
            assert choice.span == Span(0, 1) and "nothing" in choice.why, choice
        else:
            assert choice.span is not None
            assert (choice.span.low, choice.span.high) == expected, choice
            assert choice.why


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
    page = f"class GraphModule(torch.nn.Module):\n    def forward(self, {', '.join(parameters)}):\n"
    graph = read_graph(page + textwrap.indent(body + "\nreturn ()", "        ") + "\n", "")
    assert graph is not None
    types = {p.name: kind for p in graph.parameters if (kind := tensor_type(p.type, {})) is not None}
    choices = choose(graph, types, {})
    assert [choices[name].most for name in "mb" if name in choices] == ([] if most is None else [most])


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
    page = f"class GraphModule(torch.nn.Module):\n    def forward(self, {', '.join(parameters)}):\n"
    graph = read_graph(page + textwrap.indent(body + "\nreturn ()", "        ") + "\n", "")
    assert graph is not None
    types = {p.name: kind for p in graph.parameters if (kind := tensor_type(p.type, {})) is not None}
    choices = choose(graph, types, {})
    assert [choices[name].true for name in "mr" if name in choices] == ([] if true is None else [true])
