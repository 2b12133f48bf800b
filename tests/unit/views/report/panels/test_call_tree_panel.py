"""Functions stand under those that called them."""

from __future__ import annotations

from depyf.views.report.dump_view import DumpView
from depyf.views.report.panels.call_tree_panel import call_tree_panel
from made_dumps import caller, compilation, function, run_dump


def test_what_goes_on_after_a_break_stands_below_its_function(tmp_path):
    called = (caller(9, "f(x)"),)
    resumed = (*called, caller(4, number="0"))
    folder = run_dump(
        tmp_path,
        function("0", "f", 1, compilation("0/0", callers=called)),
        function(
            "1", "torch_dynamo_resume_in_f_at_4", 4, compilation("1/0", callers=resumed),
            compilation("1/1", callers=resumed), resume_of=(0, "0"),
        ),
        function("2", "g", 7, compilation("2/0", callers=(*resumed, caller(5, number="1")))),
    )  # fmt: skip
    nodes = call_tree_panel(DumpView(folder), None)["nodes"]
    assert [(node["name"], node.get("after"), node["above"]) for node in nodes] == [
        ("f", None, -1),
        ("f", 4, 0),
        ("g", None, 1),
    ]
    assert nodes[0]["calls"] == [{"at": "a.py:9", "line": "f(x)"}] and nodes[0]["by"] == "called"
    assert [e["id"] for e in nodes[1]["entries"]] == ["1/0", "1/1"] and not nodes[1]["calls"]


def test_a_function_that_calls_itself_is_there_once(tmp_path):
    mine = (caller(3, number="0"),)
    folder = run_dump(tmp_path, function("0", "f", 1, compilation("0/0"), compilation("0/1", callers=mine)))
    nodes = call_tree_panel(DumpView(folder), None)["nodes"]
    assert len(nodes) == 1 and [e["id"] for e in nodes[0]["entries"]] == ["0/0", "0/1"]
