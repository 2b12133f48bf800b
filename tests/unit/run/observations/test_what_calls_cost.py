"""Which loops and lines are told of: by what Inductor made of a graph, each line once."""

from __future__ import annotations

from dataclasses import replace

from depyf.run.bill.lowering import CostKind, LoweredGraph, LoweringCost
from depyf.run.compile_stages import CAPTURED, WRAPPER
from depyf.run.graphs.unrolled_loops import UnrolledLoop
from depyf.run.observations.memory_traffic import memory_traffic
from depyf.run.observations.nothing_compiled import nothing_compiled
from depyf.run.observations.unrolled import unrolled
from depyf.run.places.place import Place
from depyf.run.program_calls.program_error import ProgramError
from depyf.run.records import CompileKey, GraphRecord
from depyf.run.run import Run
from made_dumps import compilation, function

KEY = CompileKey(0, "0/0")
LOOP = UnrolledLoop("/p.py", 3, "for t in range(32):", "f", "self.cell", 32, 64)
LINE, OTHER = Place("/p.py", 5, "f", "y = self.conv(x)"), Place("/p.py", 6, "f", "z = y + 1")


def run_of(operations: int, *lowered: LoweredGraph) -> Run:
    captured = GraphRecord(KEY, CAPTURED, 0, "", loops=(LOOP,))
    wrappers = (GraphRecord(KEY, WRAPPER, n, "", lowering=one) for n, one in enumerate(lowered))
    entry = compilation("0/0", operations=operations)
    return Run("2.13.0", "3.11", (function("0", "f", 1, entry),), (captured, *wrappers), finished=True)


def test_a_short_graph_of_many_kernels_is_long():
    assert [*unrolled(run_of(80))] == []
    assert [*unrolled(run_of(80, LoweredGraph(20, 30, 0)))] == []
    (found,) = unrolled(run_of(80, LoweredGraph(20, 30, 0), LoweredGraph(60, 70, 0)))
    assert found.text == "the loop is unrolled 32 times into one graph"
    assert [*unrolled(run_of(120))] == [found]


def not_fused(size: int, operator: str, line: Place = LINE, reason: str = "no shared data") -> LoweringCost:
    return LoweringCost(CostKind.NOT_FUSED, size << 20, reason, (), (operator,), (line,), (), (line,))


def test_a_line_is_told_of_once():
    costs = (not_fused(6, "relu"), not_fused(3, "mul"), not_fused(5, "add", OTHER), not_fused(2, "sum"))
    found = [*memory_traffic(run_of(9, LoweredGraph(4, 0, 100 << 20, costs=costs)))]
    assert [(one.place, one.cost.split(" of ")[0]) for one in found] == [(LINE, "11.0 MiB"), (OTHER, "5.0 MiB")]
    assert found[0].text.startswith("two of its loops are not fused, 3 times: they use the same memory")


def test_without_lines_operators_are_named():
    cost = replace(not_fused(9, "aten.relu"), lines=(), other_operators=("aten.mul",), other_lines=())
    (found,) = memory_traffic(run_of(9, LoweredGraph(4, 2, 100 << 20, costs=(cost,))))
    assert found.place is None
    assert found.text.startswith("the loop of `aten.relu` and the one of `aten.mul` (no line of the program) are")


def test_what_a_library_computes_is_a_kernel():
    """Inductor's own are loops: in C++ several of them lie in one kernel."""
    cost = replace(not_fused(9, "aten.mm", reason="node2 is extern or nop"), other_lines=(OTHER,))
    (found,) = memory_traffic(run_of(9, LoweredGraph(4, 2, 100 << 20, costs=(cost,))))
    assert found.text.startswith("its kernel and the one of line 6 are not fused: one of the two is a kernel of a lib")


def test_operators_that_are_not_compiled_are_told_apart():
    costs = tuple(replace(not_fused(9, name), kind=CostKind.FALLBACK) for name in ("topk", "sort"))
    found = [*memory_traffic(run_of(9, LoweredGraph(4, 2, 100 << 20, costs=costs)))]
    assert [one.text.split(" ")[0] for one in found] == ["`topk`", "`sort`"]


def test_what_ended_early_may_have_been_on_its_way_to_torch_compile():
    run = Run("2.13.0", "3.11", from_start=True, finished=True)
    assert len([*nothing_compiled(run)]) == 1
    assert [*nothing_compiled(replace(run, ended_by=ProgramError("ModuleNotFoundError: no x", LINE)))] == []
