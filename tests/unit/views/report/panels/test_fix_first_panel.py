"""Causes with their seconds, and functions by what became of them."""

from __future__ import annotations

from depyf.run.records import NOTHING_TO_COMPILE
from depyf.views.report.dump_view import DumpView
from depyf.views.report.panels.fix_first_panel import fix_first_panel
from made_dumps import entry, made_dump

CAUSE = {
    "kind": "recompiles", "function": "f", "at": "a.py:3", "line": "n += 1", "asked": "n == 1", "module": "", "inside": "",
    "compile_ids": [{"compile_id": "0/1", "generation": 0}], "caused": [{"compile_id": "0/1", "generation": 0}],
    "costs": {"compilations": 1, "python": 0, "operations": 0, "breaks": 0}, "text": "n is a constant", "more": "",
    "advice": [{"id": "mark-dynamic", "values": {"tensor": "x", "size": "1"}}, {"id": "of another depyf", "values": {}}],
    "functions": ["f"], "ran_as_python": [],
}  # fmt: skip


def panel(folder, **files):
    functions = [
        {"function": "f", "from": "a.py:1", "entries": [entry("0/0", graph_breaks=[{"at": "a.py:2"}]), entry("0/1")]},
        {"function": "g", "from": "a.py:9", "entries": [entry("1/0", compiled=False, failed="a loop", advice=[])]},
        {"function": "h", "from": "a.py:12", "entries": [entry("2/0", compiled=False, failed="E", raised=True)]},
    ]
    manifest = {"functions": functions, "causes": [CAUSE], "never_compiled": [{"function": "gen", "from": "a.py:20", "reason": "a generator"}]}  # fmt: skip
    return fix_first_panel(DumpView(made_dump(folder, manifest, **files)), None)


def test_a_cause_has_the_seconds_of_what_it_caused(tmp_path):
    seconds = {"0_0": {"entire_frame_compile_time": 2.0}, "0_1": {"entire_frame_compile_time": 1.5}}
    data = panel(tmp_path, timings__json={"seconds": seconds})
    (cause,) = data["causes"]
    assert cause["seconds"] == 1.5 and data["seconds"] == 3.5
    assert cause["at"] == "a.py:3" and cause["entries"] == [{"id": "0/1"}]


def test_functions_stand_where_they_ended(tmp_path):
    data = panel(tmp_path)
    assert [row["name"] for row in data["compiled"]] == ["f"]
    assert [(row["name"], row["why"]) for row in data["python"]] == [("g", "a loop"), ("gen", "a generator")]
    assert [(row["name"], row["why"]) for row in data["failed"]] == [("h", "E")]
    assert data["counts"] == {
        "functions": 3, "compilations": 2, "breaks": 1, "recompilations": 0, "python": 1, "failed": 1, "kernels": 0,
    }  # fmt: skip
    assert data["seconds"] is None


def test_a_function_with_nothing_to_compile_is_no_loss(tmp_path):
    """As in index.md: what follows the last break is often only a ``return``."""
    functions = [
        {"function": "f", "from": "a.py:1", "entries": [entry("0/0", compiled=False, failed=NOTHING_TO_COMPILE)]}
    ]
    data = fix_first_panel(DumpView(made_dump(tmp_path, {"functions": functions, "causes": []})), None)
    assert data["counts"]["python"] == 0 and data["python"] == []


def test_of_a_run_that_has_not_finished_nothing_is_said(tmp_path):
    (tmp_path / "full_code_for_f_0.py").write_text("pass\n")
    assert fix_first_panel(DumpView(tmp_path), None) is None
