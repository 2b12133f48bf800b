"""The graphs of a dump, with their modules."""

from __future__ import annotations

from depyf.views.report.dump_view import DumpView
from depyf.views.report.panels.graphs_panel import graphs_panel
from made_dumps import entry, made_dump

TEXT = """class GraphModule(torch.nn.Module):
    def forward(self, L_x_: "f32[2]"):
        l_x_ = L_x_
        y: "f32[2]" = l_x_ + 1
        z = y.sum()
        return (z,)


if __name__ == "__main__":
    inputs = [1]
"""


def test_captured_graphs_come_first_and_operations_are_counted(tmp_path):
    names = {stage: f"__compiled_fn_0_0.{stage}.0.py" for stage in ("Backward_graph", "Captured_Graph")}
    files = [
        {"file": name, "kind": "graph", "stage": stage, "index": 0, "compile_id": "0/0"}
        for stage, name in names.items()
    ]
    for name in names.values():
        (tmp_path / name).write_text(TEXT)
    layers = {"layers": [{"module": "self.l", "class": "Linear", "lines": [[4, 5], [5, 4]]}]}
    functions = [{"function": "f", "from": "a.py:1", "entries": [entry("0/0")]}]
    folder = made_dump(
        tmp_path, {"files": files, "functions": functions}, **{"__compiled_fn_0_0.Captured_Graph.0.layers.json": layers}
    )
    found = graphs_panel(DumpView(folder), None)["graphs"]
    assert [(graph["stage"], graph["operations"], graph["function"]) for graph in found] == [
        ("Captured_Graph", 2, "f"), ("Backward_graph", 2, "f"),
    ]  # fmt: skip
    assert found[0]["layers"] == [["self.l", "Linear", [[4, 5]]]] and found[1]["layers"] == [
        ["self.l", "Linear", [[5, 5]]]
    ]  # by the same operators in the same order


def test_damaged_layers_are_told(tmp_path):
    name = "__compiled_fn_0_0.Captured_Graph.0.py"
    (tmp_path / name).write_text(TEXT)
    item = {"file": name, "kind": "graph", "stage": "Captured_Graph", "index": 0, "compile_id": "0/0"}
    layers = {"__compiled_fn_0_0.Captured_Graph.0.layers.json": {"layers": ["damaged"]}}
    view = DumpView(made_dump(tmp_path, {"files": [item]}, **layers))
    (found,) = graphs_panel(view, None)["graphs"]
    assert found["layers"] == [] and "layers[0] is not an object" in view.missing[-1]
