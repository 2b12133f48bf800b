"""Guards by line, with the entries that have them."""

from __future__ import annotations

from depyf.views.report.dump_view import DumpView
from depyf.views.report.panels.guards_panel import guards_panel
from made_dumps import entry, made_dump

FUNCTIONS = {"functions": [{"function": "f", "from": "a.py:1", "entries": [entry("0/1"), entry("0/0")]}]}


def test_entries_stand_in_order_and_guards_by_line(tmp_path):
    page = {
        "entries": [
            {"compile_id": "0/1", "generation": 0, "state": "live", "guards": [0, 1]},
            {"compile_id": "0/0", "generation": 0, "state": "live", "guards": [2, 1, 7, "x"]},
        ],
        "guards": [
            {"expression": "n == 2", "at": "a.py:9", "value": "3", "holds": False}, {"expression": "grad mode"},
            {"expression": "n == 1", "at": "a.py:3"}, {"expression": "of no entry"},
        ],
    }  # fmt: skip
    data = guards_panel(DumpView(made_dump(tmp_path, FUNCTIONS, guards__json=page)), None)
    assert [(e["id"], e["function"]) for e in data["entries"]] == [("0/0", "f"), ("0/1", "f")]
    assert [(g["expression"], g["entries"]) for g in data["guards"]] == [
        ("n == 1", [0]),
        ("n == 2", [1]),
        ("grad mode", [0, 1]),
    ]
    assert data["guards"][1]["value"] == "3" and data["guards"][1]["holds"] is False


def test_older_and_damaged_dumps_have_no_panel(tmp_path):
    assert guards_panel(DumpView(made_dump(tmp_path / "a", FUNCTIONS)), None) is None
    assert guards_panel(DumpView(made_dump(tmp_path / "b", FUNCTIONS, guards__json=[1])), None) is None
    view = DumpView(made_dump(tmp_path / "c", FUNCTIONS, guards__json="no JSON"))
    assert guards_panel(view, None) is None and view.missing
