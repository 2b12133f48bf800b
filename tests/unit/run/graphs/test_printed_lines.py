"""Lines of a printed graph, in parts."""

from __future__ import annotations

import pytest

from depyf.run.graphs.printed_lines import PrintedLine, printed_class, printed_line, printed_lines

GRAPH = """class GraphModule(torch.nn.Module):
    def forward(self, L_x_: "f32[2]"):
        l_x_ = L_x_
        # File: a.py:3 in f, code: y = x + 1
        y: "f32[2]" = l_x_ + 1;  l_x_ = None
        return (y,)
"""


def test_the_lines_that_compute() -> None:
    renamed, added = printed_lines(GRAPH)
    assert renamed == PrintedLine(8, "l_x_", "", "L_x_") and renamed.renames
    assert added == PrintedLine(8, "y", "f32[2]", "l_x_ + 1;  l_x_ = None") and not added.renames


@pytest.mark.parametrize("line", ["y = x + 1", "    return (y,)", "    # y = x", "    self.y = x", "    y += 1", ""])
def test_a_line_that_assigns_no_value_of_the_graph(line: str) -> None:
    assert printed_line(line) is None


def test_classes() -> None:
    assert printed_class("class GraphModule(torch.nn.Module):") == (0, "GraphModule")
    assert printed_class("    class body_0(torch.nn.Module):") == (4, "body_0")
    assert printed_class("    subclass body(x)") is None
