"""Causes with their seconds, and functions by what became of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from depyf.run.advice.advice import AdviceUse
from depyf.run.bill.lowering import CostKind, LoweredGraph, LoweringCost
from depyf.run.places.place import Place
from depyf.run.records import NOTHING_TO_COMPILE, BreakRecord, CompileKey, GraphRecord, RecompileRecord
from depyf.views.report.dump_view import DumpView
from depyf.views.report.panels.fix_first_panel import fix_first_panel
from made_dumps import compilation, function, run_dump

KILLED = Path(__file__).parents[3] / "run" / "store" / "dumps" / "killed"
COUNTED = RecompileRecord("0/0", "L['n'] == 1", Place("a.py", 3, "f", "n += 1"), "1", "2")
PRINT = BreakRecord("", Place("a.py", 2, "f", "print(x)"), "print", "print() writes", "", (), "", False)


def panel(folder, **more):
    functions = (
        function("0", "f", 1, compilation("0/0", breaks=(PRINT,)), compilation("0/1", recompiles=(COUNTED,))),
        function("1", "g", 9, compilation("1/0", failed="a loop")),
        function("2", "h", 12, compilation("2/0", failed="E", raised=True)),
    )
    left_alone = ((function("3", "gen", 20).code, "a generator"),)
    return fix_first_panel(DumpView(run_dump(folder, *functions, never_compiled=left_alone, **more)), None)


def test_a_cause_has_the_seconds_of_what_it_caused(tmp_path):
    data = panel(tmp_path, seconds={"0/0": 2.0, "0/1": 1.5})
    assert data["seconds"] == 3.5
    told = {cause["at"]: (cause["line"], cause["seconds"], cause["entries"]) for cause in data["causes"]}
    assert told["a.py:3"] == ("n += 1", 1.5, [{"id": "0/1"}]) and told["a.py:2"][1] is None


def test_what_each_call_costs_is_no_part_of_the_compiling_and_stands_last(tmp_path):
    """As `depyf doctor` prints it: a change of the kernels would not save the compilation that they are in."""
    two, three = (
        LoweringCost(CostKind.COPY, size, "asked", ("aten.clone",), lines=(Place("a.py", line, "f", "x.clone()"),))
        for line, size in ((5, 2 << 20), (6, 3 << 20))
    )
    lowered = LoweredGraph(1, 0, 9 << 20, 0, (two, three))
    graph = GraphRecord(CompileKey(0, "0/0"), "kernel", 0, "# a wrapper\n", lowering=lowered)
    needed = replace(COUNTED, advice=(AdviceUse("with-and-without-gradients"),))
    rows = (compilation("0/0"), compilation("0/1", recompiles=(needed,)))
    folder = run_dump(tmp_path, function("0", "f", 1, *rows), graphs=(graph,), seconds={"0/0": 9.0, "0/1": 1.5})
    data = fix_first_panel(DumpView(folder), None)
    told = [(one["part"], one["at"], one["seconds"]) for one in data["causes"]]
    assert told[-2:] == [("calls", "a.py:6", None), ("calls", "a.py:5", None)]
    assert [part for part, _, _ in told[:-2]] == ["needed"] and told[0][2] == 1.5


def test_functions_stand_where_they_ended(tmp_path):
    data = panel(tmp_path)
    assert [row["name"] for row in data["compiled"]] == ["f"]
    assert [(row["name"], row["why"]) for row in data["python"]] == [("g", "a loop"), ("gen", "a generator")]
    assert [(row["name"], row["why"]) for row in data["failed"]] == [("h", "E")]
    assert data["counts"] == {
        "functions": 3, "compilations": 2, "breaks": 1, "recompilations": 1, "python": 1, "failed": 1, "kernels": 0,
    }  # fmt: skip
    assert data["seconds"] is None


def test_a_function_with_nothing_to_compile_is_no_loss(tmp_path):
    """As in index.md: what follows the last break is often only a ``return``."""
    folder = run_dump(tmp_path, function("0", "f", 1, compilation("0/0", failed=NOTHING_TO_COMPILE)))
    data = fix_first_panel(DumpView(folder), None)
    assert data["counts"]["python"] == 0 and data["python"] == []


def test_where_nothing_tells_of_a_run_nothing_is_said(tmp_path):
    (tmp_path / "full_code_for_f_0.py").write_text("pass\n")
    assert fix_first_panel(DumpView(tmp_path), None) is None


def test_a_killed_run_has_its_causes():
    view = DumpView(KILLED)
    data = fix_first_panel(view, None)
    assert [(cause["kind"], cause["line"]) for cause in data["causes"]] == [
        ("breaks", 'print("scaled")'),
        ("recompiles", "y = x * factor"),
    ]
    assert any("has not finished" in line for line in view.missing)
