"""The page of a graph and its modules -> a text nested by module, and an index whose lines are those of the page."""

from __future__ import annotations

import json

from depyf.run.graphs.graph_facts import GraphFacts, InputFacts, LayerFacts
from depyf.run.graphs.layer_tree import layer_tree, ranges
from depyf.run.records import CompileKey, GraphRecord
from depyf.views.pages.layers import layers_pages
from work import calls

PAGE = """\
# Compile id 0/0: the graph Dynamo captured.

import torch


class GraphModule(torch.nn.Module):
    def forward(self, L_x_: "f32[2]", L_w_: "f32[2]"):
        l_x_ = L_x_

        # File: /p/m.py:8 in forward, code: return self.b(self.a(x)) + 1
        a: "f32[2]" = l_x_ * L_w_;  l_x_ = None
        b: "f32[2]" = torch.relu(a);  a = None
        c = b * L_w_
        d: "f32[2]" = torch.relu(c)
        e = d + 1

        return (e,)


if __name__ == "__main__":
    inputs = []
    a = 1
"""
FACTS = LayerFacts(
    (
        ("L['self'].h.0", "Block", -1),
        ("L['self'].h.0.act", "ReLU", 0),
        ("L['self'].h.1", "Block", -1),
        ("L['self'].h.1.act", "ReLU", 2),
    ),
    (("a", 0), ("b", 1), ("c", 2), ("d", 3)),
)


def record(facts: LayerFacts = FACTS) -> GraphRecord:
    inputs = (InputFacts("L_x_", "tensor", "L['x']"), InputFacts("L_w_", "tensor", "L['self'].w", "parameter"))
    return GraphRecord(CompileKey(0, "0/0"), "Captured_Graph", 0, PAGE, facts=GraphFacts(inputs, layers=facts))


def test_text_and_index():
    pages = layers_pages(record(), PAGE)
    assert pages is not None
    text, index = pages
    assert (
        text
        == """\
The graph of __compiled_fn_0_0.Captured_Graph.0.py, module by module.

       lines  module
       11-12  self.h.0 (Block)
          12    self.h.0.act (ReLU)
       13-14  self.h.1 (Block), same operations as self.h.0


class Block:  # self.h.0
    # m.py:8 return self.b(self.a(x)) + 1
    a: "f32[2]" = x * self.w

    class ReLU:  # self.h.0.act
        # m.py:8 return self.b(self.a(x)) + 1
        b: "f32[2]" = torch.relu(a)

class Block:  # self.h.1, same operations as self.h.0
    # m.py:8 return self.b(self.a(x)) + 1
    c = b * self.w

    class ReLU:  # self.h.1.act
        # m.py:8 return self.b(self.a(x)) + 1
        d: "f32[2]" = torch.relu(c)

e = d + 1
"""
    )
    data = json.loads(index)
    assert data["layers"][1] == {"module": "self.h.0.act", "class": "ReLU", "lines": [[12, 12]]}
    assert data["layers"][2]["same_as"] == "self.h.0" and data["of_no_module"] == [[15, 15]]
    lines = PAGE.splitlines()
    assert lines[12 - 1].strip().startswith("b:"), "the index names lines of the page"


def test_every_operation_once_and_in_order():
    tree = layer_tree(PAGE, FACTS)
    assert tree is not None and tree.numbers() == [11, 12, 13, 14, 15]


def test_pieces_of_a_split_graph():
    page = "class GraphModule(torch.nn.Module):\n    def forward(self, x):\n        y = self.sub(x)\n        return y\n    class sub(torch.nn.Module):\n        def forward(self, x):\n            a = x + 1\n            return a\n"  # fmt: skip
    tree = layer_tree(page, LayerFacts((("L['self'].a", "A", -1),), (("sub.a", 0),)))
    assert tree is not None and [layer.numbers() for layer in tree.layers()][1] == [7]


def test_without_modules_no_page():
    assert layers_pages(record(LayerFacts()), PAGE) is None
    assert layers_pages(record(LayerFacts((("a", "A", -1),), (("nowhere", 0),))), PAGE) is None
    odd = LayerFacts((("L['self'].\n\x1b[1m", "A\nB", -1),), (("a", 0), ("b", 7)))
    pages = layers_pages(record(odd), PAGE)
    assert pages is not None and "\x1b" not in pages[0] + pages[1] and "A\nB" not in pages[0]


def test_ranges():
    assert ranges([3, 4, 6, 20]) == [(3, 6), (20, 20)] and ranges([]) == []


def test_linear():
    def work(count: int) -> int:
        body = "".join(f"        v{n} = torch.relu(v{n - 1})\n" for n in range(1, count))
        page = f"class GraphModule(torch.nn.Module):\n    def forward(self, v0):\n{body}        return v0\n"
        facts = LayerFacts(
            tuple((f"L['self'].h.{n}", "B", -1) for n in range(count)), tuple((f"v{n}", n) for n in range(1, count))
        )
        assert layers_pages(record(facts), page) is not None
        return calls(lambda: layers_pages(record(facts), page))

    assert 0 < work(8000) < 9 * work(1000)
