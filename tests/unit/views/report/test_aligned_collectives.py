"""Collectives in order, aligned across ranks."""

from __future__ import annotations

from depyf.views.report.aligned_collectives import aligned
from depyf.views.report.dump_view import DumpView
from made_dumps import entry, made_dump

NAME = "__compiled_fn_0_0.Captured_Graph.0.py"


def rank(folder, *calls):
    lines = ["class GraphModule(torch.nn.Module):", "    def forward(self, x):"]
    for number, call in enumerate(calls):
        lines += [
            f"        # File: a.py:{number} in f, code: f()",
            f'        v{number}: "f32[4]cuda:{folder.name[-1]}" = {call}',
        ]
    folder.mkdir(parents=True)
    (folder / NAME).write_text("\n".join(lines))
    item = {"file": NAME, "kind": "graph", "stage": "Captured_Graph", "compile_id": "0/0", "index": 0}
    functions = [{"function": "f", "from": "a.py:1", "entries": [entry("0/0")]}]
    return DumpView(made_dump(folder, {"files": [item], "functions": functions}))


REDUCE = "torch.ops._c10d_functional.all_reduce.default(x, 'sum', '0');  x = None"
GATHER = "torch.ops._c10d_functional.all_gather_into_tensor.default(x, 2, '0')"
WAIT = "torch.ops._c10d_functional.wait_tensor.default(x)"


def test_one_that_a_rank_lacks_leaves_a_gap(tmp_path):
    rows = aligned({
        0: rank(tmp_path / "rank_0", REDUCE, WAIT, GATHER, REDUCE), 1: rank(tmp_path / "rank_1", REDUCE, REDUCE)
    })  # fmt: skip
    assert [row["operator"] for row in rows] == ["all_reduce", "all_gather_into_tensor", "all_reduce"]
    assert [row["differs"] for row in rows] == [False, True, False]
    assert rows[1]["cells"][1] is None and rows[0]["cells"][0]["line"] == 4


def test_another_reduction_at_the_same_place_differs(tmp_path):
    other = REDUCE.replace("'sum'", "'max'")
    rows = aligned({0: rank(tmp_path / "rank_0", REDUCE), 1: rank(tmp_path / "rank_1", other)})
    assert [row["differs"] for row in rows] == [True]
    assert [cell["constants"] for cell in rows[0]["cells"]] == ["'sum', '0'", "'max', '0'"]
