"""The tables of ``shapes.json``, as far as they are there."""

from __future__ import annotations

from depyf.views.report.dump_view import DumpView
from depyf.views.report.panels.memory_panel import memory_panel
from depyf.views.report.panels.shapes_panel import shapes_panel
from made_dumps import entry, made_dump


def test_what_is_no_table_is_left_out(tmp_path):
    folder = made_dump(tmp_path / "a", {}, shapes__json={"functions": [{"function": "f"}, 3]}, memory__json={"graphs": [{"compile_id": "0/0"}]})  # fmt: skip
    assert shapes_panel(DumpView(folder), None) == {"functions": [{"function": "f"}]}
    assert memory_panel(DumpView(folder), None) == {"graphs": [{"compile_id": "0/0", "function": ""}]}
    empty = made_dump(tmp_path / "b", {}, shapes__json=[], memory__json={"graphs": []})
    assert shapes_panel(DumpView(empty), None) is None and memory_panel(DumpView(empty), None) is None


def test_what_goes_on_after_a_break_has_the_name_of_its_function(tmp_path):
    functions = [
        {"function": "f", "from": "a.py:1", "entries": [entry("0/0")]},
        {"function": "torch_dynamo_resume_in_f_at_4", "from": "a.py:4", "resume_of": "0", "entries": [entry("1/0")]},
    ]
    told = "torch_dynamo_resume_in_f_at_4"
    folder = made_dump(
        tmp_path, {"functions": functions},
        shapes__json={"functions": [{"frame": {"compile_id": "1", "generation": 0}, "function": told}]},
        memory__json={"graphs": [{"compile_id": "1/0", "generation": 0, "function": told}]},
    )  # fmt: skip
    assert shapes_panel(DumpView(folder), None)["functions"][0]["function"] == "f, after line 4"
    assert memory_panel(DumpView(folder), None)["graphs"][0]["function"] == "f, after line 4"
