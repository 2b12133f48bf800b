"""A joint or backward graph is folded by the modules of the captured operations that its lines come from."""

from __future__ import annotations

from depyf.views.report.links.graph_lines import graph_lines
from depyf.views.report.links.later_layers import later_layers

HEAD = "class GraphModule(torch.nn.Module):\n    def forward(self, {}):\n"
CAPTURED = HEAD.format('L_x_: "f32[2]"') + "".join(
    f"        {name} = torch.relu({read})\n" for name, read in (("a", "L_x_"), ("b", "a"), ("c", "b"))
)
LAYERS = [["self.block", "Block", [[3, 4]]], ["self.block.act", "ReLU", [[4, 4]]]]
MADE = {name: frozenset((number,)) for number, name in enumerate("abc")}


def later(inputs: str, *nodes: tuple[str, str, str]) -> list[list[object]]:
    """``nodes``: name, what it reads, the captured operations that it comes from."""
    text = HEAD.format(inputs) + "".join(f"        {name} = torch.neg({read})\n" for name, read, _ in nodes)
    own = {name: frozenset().union(*(MADE[one] for one in of)) for name, _, of in nodes}
    return later_layers(graph_lines(CAPTURED), LAYERS, MADE, graph_lines(text), own)


def test_gradients_of_a_joint_graph_are_apart() -> None:
    nodes = [("f", "primals_1", "a"), ("g", "f", "b"), ("h", "tangents_1", "b"), ("i", "h", "a"), ("j", "i", "c")]
    assert later('primals_1: "f32[2]", tangents_1: "f32[2]"', *nodes) == [
        ["self.block", "Block", [[3, 4]]],
        ["self.block.act", "ReLU", [[4, 4]]],
        ["self.block (backward)", "Block", [[5, 6]]],
        ["self.block.act (backward)", "ReLU", [[5, 5]]],
    ]


def test_what_a_backward_computes_again_is_apart() -> None:
    nodes = [("f", "saved", "b"), ("g", "tangents_1", "b"), ("h", "f, g", "a")]
    assert later('saved: "f32[2]", tangents_1: "f32[2]"', *nodes) == [
        ["self.block", "Block", [[4, 5]]],
        ["self.block.act", "ReLU", [[4, 4]]],
        ["self.block (again)", "Block", [[3, 3]]],
        ["self.block.act (again)", "ReLU", [[3, 3]]],
    ]


def test_an_operation_that_may_be_of_two_modules_is_in_what_is_around_both() -> None:
    assert later('x: "f32[2]"', ("f", "x", "ab")) == [["self.block", "Block", [[3, 3]]]]
    assert later('x: "f32[2]"', ("f", "x", "bc")) == []
