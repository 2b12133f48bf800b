"""Ranks as columns: what one lacks, or did otherwise, is marked."""

from __future__ import annotations

import argparse
import json

from depyf.cli.diff_and_merge import run_merge
from depyf.run.records import GuardRecord
from depyf.views.report.dump_view import DumpView
from depyf.views.report.panels.ranks_panel import ranks_panel
from made_dumps import compilation, entry, function, made_dump, run_dump


def test_a_function_that_one_rank_lacks_differs(tmp_path):
    common = {"function": "f", "from": "a.py:1", "entries": [entry("0/0")]}
    extra = {
        "function": "g",
        "from": "a.py:9",
        "entries": [entry("1/0", graph_breaks=[{"at": "a.py:10", "cause": "print"}])],
    }
    made_dump(tmp_path / "rank_0", {"functions": [common], "ranks": 2})
    made_dump(tmp_path / "rank_1", {"functions": [common, extra], "ranks": 2})
    view = DumpView(tmp_path)
    data = ranks_panel(view, None)
    assert [(r["rank"], r["compilations"], r["breaks"]) for r in data["ranks"]] == [(0, 1, 0), (1, 2, 1)]
    assert [(row["name"], row["differs"]) for row in data["functions"]] == [("f", False), ("g", True)]
    assert data["functions"][1]["cells"][0] is None
    assert any("a.py:10" in event for event in data["apart"][0]["events"])
    assert view.missing == []


def test_ranks_part_where_merge_says_that_they_diverge(tmp_path, capsys):
    """The functions are alike, and a text is not."""
    for rank in (0, 1):
        guards = (GuardRecord("EQUALS_MATCH", f"L['n'] == {rank}", f"n == {rank}"),)
        run_dump(tmp_path / f"rank_{rank}", function("0", "f", 1, compilation("0/0", guards=guards)), ranks=2)
    data = ranks_panel(DumpView(tmp_path), None)
    assert [row["differs"] for row in data["functions"]] == [False] and data["collectives"] == []
    assert run_merge(argparse.Namespace(folder=tmp_path, json=True, unified=False)) == 1
    merged = json.loads(capsys.readouterr().out)["ranks"]
    assert {str(found["rank"]): found["equal"] for found in data["apart"]} == {"1": False}
    assert merged["1"]["equal"] is False


def test_one_process_has_no_panel(tmp_path):
    assert ranks_panel(DumpView(made_dump(tmp_path, {})), None) is None
