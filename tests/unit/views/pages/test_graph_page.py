"""The page of a graph, and what of it torch printed."""

from __future__ import annotations

from depyf.run.graphs.graph_source import unboxed
from depyf.run.records import CompileKey, GraphRecord
from depyf.views.pages.graph_page import graph_page, printed_part, quick_page

PRINTED = """\
class GraphModule(torch.nn.Module):
    def forward(self, L_x_: "f32[3]"):
        l_x_ = L_x_
         # File: /a.py:3 in f, code: return x + 1
        add: "f32[3]" = l_x_ + 1;  l_x_ = None
        return (add,)
"""
RECORD = GraphRecord(CompileKey(0, "0/0"), "Captured_Graph", 0, PRINTED)


def test_what_torch_printed_is_the_same_on_a_page_that_is_not_finished() -> None:
    whole, quick = graph_page(RECORD), quick_page(RECORD)
    assert "if __name__" in whole and "if __name__" not in quick
    part = printed_part(whole)
    assert part == printed_part(quick) and part.startswith("class ") and part.endswith("return (add,)\n")
    assert printed_part(PRINTED) == PRINTED and printed_part("x\n") == "x\n"


def test_one_list_of_arguments_becomes_parameters() -> None:
    text = """\
    def forward(self, args_list):
        args_iter = iter(args_list)
        a: "f32[3]" = next(args_iter)
        b = next(args_iter)
        args_list.clear()
        return (a, b)
"""
    assert unboxed(text) == '    def forward(self, a: "f32[3]", b):\n        return (a, b)\n'
