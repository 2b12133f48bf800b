"""The tables of ``shapes.json``, as far as they are there."""

from __future__ import annotations

from depyf.report.dump_view import DumpView
from depyf.report.panels.memory_panel import memory_panel
from depyf.report.panels.shapes_panel import shapes_panel
from made_dumps import made_dump


def test_what_is_no_table_is_left_out(tmp_path):
    folder = made_dump(tmp_path / "a", {}, shapes__json={"functions": [{"function": "f"}, 3]}, memory__json={"graphs": [{"compile_id": "0/0"}]})  # fmt: skip
    assert shapes_panel(DumpView(folder), None) == {"functions": [{"function": "f"}]}
    assert memory_panel(DumpView(folder), None) == {"graphs": [{"compile_id": "0/0"}]}
    empty = made_dump(tmp_path / "b", {}, shapes__json=[], memory__json={"graphs": []})
    assert shapes_panel(DumpView(empty), None) is None and memory_panel(DumpView(empty), None) is None
