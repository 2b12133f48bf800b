"""The bill of a dump: memory traffic by line, and what tracing took, as the panel and ``bill.md`` show them."""

from __future__ import annotations

import json

from depyf.run.bill.lowering import CostKind, LoweredGraph, LoweringCost
from depyf.run.bill.traced_calls import TracedCall
from depyf.run.places.place import Place
from depyf.run.records import CompileKey, GraphRecord
from depyf.run.run import TimesRecord
from depyf.views.report.dump_view import DumpView
from depyf.views.report.panels.bill_panel import bill_panel
from made_dumps import compilation, function, run_dump

LINE, OTHER = Place("a.py", 4, "f", "y = x.t()"), Place("a.py", 6, "f", "z = y.sum(0)")


def cost(kind, size, reason, **more):
    return LoweringCost(kind, size, reason, operators=("aten.clone",), lines=(LINE,), **more)


LOWERED = LoweredGraph(
    kernels=2, library=1, bytes=4000, considered=2,
    costs=(
        cost(CostKind.NOT_FUSED, 800, "no shared data", other_lines=(OTHER,)),
        cost(CostKind.NOT_FUSED, 200, "device mismatch (%s vs %s)", detail=("cpu", "cuda"), other_lines=(OTHER,)),
        cost(CostKind.NOT_FUSED, 100, "a reason of %s", detail=("tomorrow",), other_lines=(LINE,)),
        cost(CostKind.COPY, 1500, "asked"),
    ),
)  # fmt: skip


def wrapper(key, lowering, index=0):
    return GraphRecord(CompileKey(0, key), "kernel", index, f"# {key} {index}\n", lowering=lowering)


def dump(folder, *graphs, times=()):
    return run_dump(folder, function("0", "f", 1, compilation("0/0"), compilation("0/1")), graphs=graphs, times=times)


def test_costs_stand_by_kind_the_largest_first(tmp_path):
    found = bill_panel(DumpView(dump(tmp_path, wrapper("0/0", LOWERED))), None)["traffic"]
    assert (found["bytes"], found["loops"], found["library"], found["cached"]) == (4000, 2, 1, 0)
    first, *others = found["costs"]["not fused"]
    assert first["line"] == {"at": "a.py:4", "text": "y = x.t()"} and first["other"]["at"] == "a.py:6"
    assert first["why"] == "they use the same memory in different orders"
    assert [one["why"] for one in others] == ["they run on different devices", "torch says: a reason of tomorrow"]
    assert [one["bytes"] for one in found["costs"]["copy"]] == [1500]
    assert sum(row["bytes"] for row in found["reasons"]) == 1100


def test_of_several_compilations_the_largest_counts(tmp_path):
    larger = LoweredGraph(1, 0, 9000, 0, (cost(CostKind.COPY, 5000, "asked"),))
    graphs = (wrapper("0/0", LOWERED), wrapper("0/1", larger), wrapper("0/1", None, 1))
    found = bill_panel(DumpView(dump(tmp_path, *graphs)), None)["traffic"]
    assert found["bytes"] == 9000 and found["cached"] == 1 and found["largest"]
    assert [row["entries"] for row in found["costs"]["copy"]] == [[{"id": "0/1"}]]


def test_the_page_and_its_data_say_the_same(tmp_path):
    folder = dump(tmp_path, wrapper("0/0", LOWERED))
    page, data = (folder / "bill.md").read_text(), json.loads((folder / "bill.json").read_text())
    assert "4000 B in 2 loops of Inductor and 1 kernel of libraries." in page
    assert "| 800 B | 20 % | a.py:4 `y = x.t()` | `clone` | a.py:6 `z = y.sum(0)` |" in page
    assert "- 800 B in 1 pair: they use the same memory in different orders" in page
    assert data["traffic"]["bytes"] == 4000
    assert "bill.md" not in (folder / "index.md").read_text()  # so little is not worth a line


def test_much_traffic_has_a_line_in_the_index(tmp_path):
    large = LoweredGraph(
        2, 0, 40 << 20, 1, (cost(CostKind.NOT_FUSED, 8 << 20, "no shared data", other_lines=(OTHER,)),)
    )
    index = (dump(tmp_path, wrapper("0/0", large)) / "index.md").read_text()
    assert "the kernels move 40.0 MiB in a call: 8.0 MiB for what is not fused" in index
    assert "by line in [bill.md](bill.md)" in index
    assert "## What each call costs\n\n1. a.py:4 `y = x.t()`: its loop and the one of line 6 are not fused" in index
    assert "8.0 MiB of the 40.0 MiB that the kernels move in a call (20 %)" in index


def test_tracing_is_shown_by_line(tmp_path):
    calls = (
        TracedCall(0, "f", "a.py", 1, 0, 1, 3.0),
        TracedCall(1, "g", "a.py", 9, 4, 24, 2.5),
        TracedCall(2, "Linear.forward", "/x/site-packages/torch/nn/modules/linear.py", 130, 10, 24, 1.0),
    )
    times = (TimesRecord(CompileKey(0, "0/0"), (("entire_frame_compile_time", 4.0),), traced=calls),)
    found = bill_panel(DumpView(dump(tmp_path, times=times)), None)
    assert found["traffic"] is None
    lines = found["traced"]["lines"]
    assert [(row["line"]["at"], row["calls"], row["seconds"], row["called"], row["owner"]) for row in lines] == [
        ("a.py:4", 24, 2.5, "g", "program"), ("a.py:10", 24, 1.0, "Linear.forward", "program"),
    ]  # fmt: skip
    (tree,) = found["traced"]["trees"]
    assert tree["function"] == "f" and tree["calls"][1] == [1, "g", "a.py:9", 4, 24, 2.5]


def test_nothing_known_is_no_panel(tmp_path):
    folder = dump(tmp_path)
    assert bill_panel(DumpView(folder), None) is None and not (folder / "bill.md").exists()
