"""A backward that compiled autograd traced has a pane in the chain of what Dynamo made of it."""

from __future__ import annotations

from pathlib import Path

from depyf.views.report.dump_view import DumpView
from depyf.views.report.links.chain_links import chains_of

HEAD = "class GraphModule(torch.nn.Module):\n    def forward(self, {}):\n"
TRACED = (
    HEAD.format("inputs, sizes")
    + """\
        getitem = inputs[0];  inputs = None

        # File: /m/train.py:6 in loss_of, code: return torch.tanh(x).sum()
        aot0_expand = torch.ops.aten.expand.default(getitem, [4]);  getitem = None
        aot0_tanh = torch.ops.aten.tanh.default(aot0_expand);  aot0_expand = None
        call_hook = torch__dynamo_external_utils_call_hook(aot0_tanh)
        return []
"""
)
CAPTURED = (
    HEAD.format("L_inputs_ : list")
    + """\
        l_inputs_ = L_inputs_

        # File: <eval_with_key>.4:5 in forward, code: getitem = inputs[0]
        getitem: "f32[][]cpu" = l_inputs_[0];  l_inputs_ = None

        # File: /m/train.py:6 in loss_of, code: return torch.tanh(x).sum()
        aot0_expand: "f32[4][0]cpu" = torch.ops.aten.expand.default(getitem, [4]);  getitem = None
        aot0_tanh: "f32[4][1]cpu" = torch.ops.aten.tanh.default(aot0_expand);  aot0_expand = None
        return (aot0_tanh,)
"""
)
FORWARD = (
    HEAD.format('arg0_1: "f32[][]cpu"')
    + """\
        # No stacktrace found for following nodes
        expand: "f32[4][0]cpu" = torch.ops.aten.expand.default(arg0_1, [4]);  arg0_1 = None
        tanh: "f32[4][1]cpu" = torch.ops.aten.tanh.default(expand);  expand = None
        return (tanh,)
"""
)


def test_lines_of_all_three_graphs_belong_together(tmp_path: Path) -> None:
    texts = {
        "ca0.Compiled_Autograd_Graph": TRACED,
        "ca0_1_0.Captured_Graph": CAPTURED,
        "ca0_1_0.Forward_graph": FORWARD,
    }
    for name, text in texts.items():
        (tmp_path / f"__compiled_fn_{name}.0.py").write_text(text)
    (chain,) = chains_of(DumpView(tmp_path))
    assert chain.key.text == "!0/1/0"
    panes = {pane.kind: pane for pane in chain.panes}
    assert list(panes) == ["autograd", "captured", "forward"]

    def numbers(kind: str, words: str) -> frozenset[int]:
        lines = texts[Path(panes[kind].file).name.removeprefix("__compiled_fn_").rpartition(".0.")[0]].split("\n")
        (line,) = [number for number, line in enumerate(lines, 1) if words in line and " = torch.ops" in line]
        return panes[kind].direct[line]

    for word in ("expand.default", "tanh.default"):
        found = {numbers(kind, word) for kind in panes}
        assert len(found) == 1 and all(found), word
    assert numbers("forward", "expand.default") != numbers("forward", "tanh.default")


def test_a_backward_that_dynamo_did_not_compile_stands_alone(tmp_path: Path) -> None:
    (tmp_path / "__compiled_fn_ca3.Compiled_Autograd_Graph.0.py").write_text(TRACED)
    (chain,) = chains_of(DumpView(tmp_path))
    assert chain.key.text == "!3" and [pane.title for pane in chain.panes] == ["Compiled autograd"]
