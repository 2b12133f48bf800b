"""Texts of a forward and a backward graph -> what is kept, what is a view, what the program has anyway, what is repeated."""

from __future__ import annotations

import random
import textwrap

import pytest

from depyf.run.compile_stages import BACKWARD, CAPTURED, FORWARD, WRAPPER
from depyf.run.graphs.graph_facts import GraphFacts, InputFacts, LayerFacts
from depyf.run.memory.saved_tensors import GIVEN, KEPT, VIEW, kept_for_backward
from depyf.run.memory.tensor_bytes import item_bytes, shown_bytes, storage_bytes, tensor_bytes
from depyf.run.records import CodeRecord, CompileKey, EntryRecord, FunctionRecord, GraphRecord, SymbolRecord
from depyf.run.run import Run
from depyf.views.pages.memory import memory_page, memory_section
from depyf.views.pages.run_data import RunFindings

FORWARD_TEXT = textwrap.dedent("""
    class GraphModule(torch.nn.Module):
        def forward(self, primals_1: "Sym(s0)", primals_2: "f32[s0, 4][4, 1]cpu", primals_3: "f32[8, 4][4, 1]cpu"):
            # File: /p/m.py:5 in f, code: h = (x @ w.t()).exp()
            permute: "f32[4, 8][1, 4]cpu" = torch.ops.aten.permute.default(primals_3, [1, 0])
            mm: "f32[s0, 8][8, 1]cpu" = torch.ops.aten.mm.default(primals_2, permute)
            exp: "f32[s0, 8][8, 1]cpu" = torch.ops.aten.exp.default(mm);  mm = None

            # File: /p/m.py:6 in f, code: return h.view(-1).sin() * 2
            view: "f32[8*s0][1]cpu" = torch.ops.aten.view.default(exp, [-1])
            sin: "f32[8*s0][1]cpu" = torch.ops.aten.sin.default(view)
            mul: "f32[8*s0][1]cpu" = torch.ops.aten.mul.Tensor(sin, 2);  sin = None
            return (mul, exp, primals_2, permute, exp, view, primals_1)
""")
BACKWARD_TEXT = textwrap.dedent('''
    class GraphModule(torch.nn.Module):
        def forward(self, primals_1: "Sym(s0)", primals_2: "f32[s0, 4][4, 1]cpu", permute: "f32[4, 8][1, 4]cpu", exp: "f32[s0, 8][8, 1]cpu", view: "f32[8*s0][1]cpu", tangents_1: "f32[8*s0][1]cpu"):
            sin: "f32[8*s0][1]cpu" = torch.ops.aten.sin.default(view)
            mul_1: "f32[8*s0][1]cpu" = torch.ops.aten.mul.Tensor(tangents_1, sin);  sin = None
            return (None, mul_1, exp)
''')  # fmt: skip
INPUTS = (
    InputFacts("s0", "int", "", symbol="s0"),
    InputFacts("l_x_", "tensor", "L['x']"),
    InputFacts("w", "tensor", "L['self']._parameters['w']", "parameter"),
)


def test_kept_views_given_and_repeated():
    kept = kept_for_backward(FORWARD_TEXT, BACKWARD_TEXT, INPUTS, {"s0": 16}, {"s0": "x.size(0)"})
    assert [(t.name, t.kind, t.of) for t in kept.saved] == [
        ("exp", KEPT, ""), ("view", VIEW, "exp"), ("permute", VIEW, "self.w"), ("primals_2", GIVEN, "x"),
    ]  # fmt: skip
    exp = kept.saved[0]
    assert (exp.size.count, exp.size.formula, exp.size.type) == (512, "32*x.size(0)", "f32[s0, 8]")
    assert exp.operator == "aten.exp" and exp.place is not None and (exp.place.line, exp.returned) == (5, True)
    assert (kept.bytes, kept.given_bytes) == (512, 256)
    (again,) = kept.recomputed
    assert (again.operators, again.count, again.bytes) == (("aten.sin",), 1, 512)
    assert again.place is not None and again.place.line == 6


def run_of(*graphs: GraphRecord) -> Run:
    code = CodeRecord("f", "f", "/p/m.py", 4, (), ("x",), (), None, None, ())
    symbol = SymbolRecord("s0", "L['x'].size()[0]", "16", "[2, int_oo]", None)
    entry = EntryRecord(CompileKey(0, "0/0"), None, (), "live", symbols=(symbol,))
    return Run("2.13", "3.11", (FunctionRecord((0, "0"), code, (entry,)),), graphs, ())


def graph(stage: str, text: str, index: int = 0, facts: GraphFacts | None = None) -> GraphRecord:
    return GraphRecord(CompileKey(0, "0/0"), stage, index, text, facts=facts)


WRAPPER_TEXT = """
def call(self, args):
    s0, primals_2, permute, exp, view, tangents_1 = args
    args.clear()
    buf0 = empty_strided_cpu((s0, 8), (8, 1), torch.float32)
    del exp
    buf1 = buf0; del buf0  # reuse
    buf2 = empty_strided_cpu((8*s0, ), (1, ), torch.float32)
    return (buf1, buf2, )
"""


def test_page_and_line_of_the_index():
    run = run_of(
        graph(CAPTURED, "", facts=GraphFacts(INPUTS)), graph(FORWARD, FORWARD_TEXT), graph(BACKWARD, BACKWARD_TEXT),
        graph(WRAPPER, WRAPPER_TEXT), graph(WRAPPER, WRAPPER_TEXT, 1),
    )  # fmt: skip
    page = memory_page(RunFindings(run))
    assert "| `f` 0/0 | 512 B | 256 B | 512 B | 1024 B in 2 buffers | 1536 B in 2 buffers |" in page
    assert (
        "| 512 B = `32*x.size(0)` | `f32[s0, 8]` | `exp` | computed, also returned | m.py:5 `h = (x @ w.t()).exp()`, `exp` |"
        in page
    )
    assert "| 0 B | `f32[4, 8]` | `permute` | a view of `self.w` |" in page
    assert "For `x.size(0)` = 16, as in the call that was compiled." in page
    assert "Given, no memory more: 1 input, 256 B: `x`." in page
    (line,) = memory_section(RunFindings(run), "memory.md")
    assert line.startswith("- `f` 0/0 keeps 512 B for its backward in 1 tensor, the most (512 B) of m.py:5 `h = ")


def test_without_a_backward_or_a_plan_there_is_no_page():
    run = run_of(graph(FORWARD, FORWARD_TEXT))
    assert memory_page(RunFindings(run)) == "" and memory_section(RunFindings(run), "memory.md") == []


def test_bytes():
    assert (
        item_bytes("bfloat16") == 2
        and item_bytes("torch.bool") == 1
        and item_bytes("complex64") == 8
        and item_bytes("x") is None
    )
    assert storage_bytes((4, 3), (3, 1), 4) == 48
    assert storage_bytes((4, 3), (0, 1), 4) == 12, "an expanded dimension takes nothing"
    assert storage_bytes((0, 3), (3, 1), 4) == 0 and storage_bytes((None, 3), None, 4) is None
    assert tensor_bytes("Sym(s0)", {}, {}) is None
    unknown = tensor_bytes("f16[u0, 2][2, 1]cuda:0", {}, {})
    assert unknown is not None and unknown.count is None and unknown.formula == "4*u0"
    assert [shown_bytes(n) for n in (0, 9_999, 10_000, 3 << 20, 5 << 30)] == [
        "0 B",
        "9999 B",
        "9.8 KiB",
        "3.0 MiB",
        "5.0 GiB",
    ]


def test_layers_of_a_model_are_one_row():
    forward = FORWARD_TEXT.replace(
        "return (mul, exp,",
        'exp_1: "f32[s0, 8][8, 1]cpu" = torch.ops.aten.exp.default(exp)\n            return (mul, exp_1, exp,',
    )
    forward = forward.replace(
        "# File: /p/m.py:6 in f, code: return h.view(-1).sin() * 2",
        "# File: /p/m.py:5 in f, code: h = (x @ w.t()).exp()",
    )
    backward = BACKWARD_TEXT.replace('view: "f32', 'exp_1: "f32[s0, 8][8, 1]cpu", view: "f32', 1)
    layers = LayerFacts((("L['self'].h.0", "B", -1), ("L['self'].h.1", "B", -1)), (("exp", 0), ("exp_1", 1)))
    run = run_of(
        graph(
            FORWARD, forward.replace("mul, exp_1, exp, primals_2", "mul, primals_2"), facts=GraphFacts(layers=layers)
        ),
        graph(BACKWARD, backward),
    )
    page = memory_page(RunFindings(run))
    assert (
        "| 1024 B = 2 × `32*x.size(0)` | 2 × `f32[s0, 8]` | `exp`, `exp_1` | computed | m.py:5 `h = (x @ w.t()).exp()`, `exp`, `self.h.*` |"
        in page
    )
    assert "in 2 tensors, the most (1024 B in 2) of m.py:5" in memory_section(RunFindings(run), "memory.md")[0]


@pytest.mark.parametrize("seed", range(60))
def test_texts_that_are_cut_or_mixed_stop_nothing(seed):
    random_ = random.Random(seed)

    def spoilt(text: str) -> str:
        lines = text.splitlines()
        for _ in range(random_.randint(1, 6)):
            place = random_.randrange(len(lines))
            line = lines[place]
            cut = random_.randrange(len(line) + 1)
            lines[place] = random_.choice(
                ["", line[:cut], line[cut:], line + line, line.replace("s0", "s9"), line.replace("f32", "q7"), lines[0]]
            )
        return "\n".join(lines)

    run = run_of(
        graph(CAPTURED, "", facts=GraphFacts(INPUTS[: random_.randint(0, 3)])), graph(FORWARD, spoilt(FORWARD_TEXT)),
        graph(BACKWARD, spoilt(BACKWARD_TEXT)), graph(WRAPPER, spoilt(WRAPPER_TEXT)), graph(WRAPPER, spoilt(WRAPPER_TEXT), 1),
    )  # fmt: skip
    page = memory_page(RunFindings(run))
    assert page.startswith("# Memory") and memory_section(RunFindings(run), "memory.md")
