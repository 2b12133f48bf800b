"""Functions stand under those that called them."""

from __future__ import annotations

from depyf.views.report.dump_view import DumpView
from depyf.views.report.panels.call_tree_panel import call_tree_panel
from made_dumps import entry, made_dump


def test_what_goes_on_after_a_break_stands_below_its_function(tmp_path):
    called = [{"at": "a.py:9", "function": "<module>"}]
    resumed = [*called, {"at": "a.py:4", "function": "f", "frame": "0"}]
    folder = made_dump(tmp_path, {"functions": [
        {"function": "f", "from": "a.py:1", "entries": [entry("0/0", called_by=called, graph_breaks=[{"at": "a.py:4"}])]},
        {"function": "torch_dynamo_resume_in_f_at_4", "from": "a.py:4", "resume_of": "0", "entries": [
            entry("1/0", called_by=resumed), entry("1/1", called_by=resumed),
        ]},
        {"function": "g", "from": "a.py:7", "entries": [entry("2/0", called_by=[*resumed, {"at": "a.py:5", "frame": "1"}])]},
    ]}, guards__json={"guards": [{"at": "a.py:9", "line": "f(x)"}]})  # fmt: skip
    nodes = call_tree_panel(DumpView(folder), None)["nodes"]
    assert [(node["name"], node.get("after"), node["above"]) for node in nodes] == [
        ("f", None, -1),
        ("f", 4, 0),
        ("g", None, 1),
    ]
    assert nodes[0]["calls"] == [{"at": "a.py:9", "line": "f(x)"}]
    assert [e["id"] for e in nodes[1]["entries"]] == ["1/0", "1/1"] and not nodes[1]["calls"]


def test_a_function_that_calls_itself_is_there_once(tmp_path):
    mine = [{"at": "a.py:3", "function": "f", "frame": "0"}]
    folder = made_dump(tmp_path, {"functions": [
        {"function": "f", "from": "a.py:1", "entries": [entry("0/0"), entry("0/1", called_by=mine)]},
    ]})  # fmt: skip
    nodes = call_tree_panel(DumpView(folder), None)["nodes"]
    assert len(nodes) == 1 and [e["id"] for e in nodes[0]["entries"]] == ["0/0", "0/1"]
