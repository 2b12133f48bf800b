"""The matrix: calls by entries, repeats marked."""

from __future__ import annotations

from depyf.report.dump_view import DumpView
from depyf.report.panels.recompilations_panel import recompilations_panel
from made_dumps import entry, made_dump, refused


def test_rows_are_calls_and_columns_entries(tmp_path):
    grown = [refused("0/0", "L['n'] == 1", "a.py:3", "1", "2")]
    again = [refused("0/1", "L['n'] == 2", "a.py:3", "2", "3"), refused("0/0", "L['n'] == 1", "a.py:3", "1", "3")]
    folder = made_dump(tmp_path, {"functions": [{
        "function": "f", "from": "a.py:1",
        "entries": [
            entry("0/2", recompiled_because=again), entry("0/0"), entry("0/1", recompiled_because=grown),
            entry("0/3", recompiled_because=again, failed="the function has as many entries as allowed", compiled=False),
        ],
    }]})  # fmt: skip
    (found,) = recompilations_panel(DumpView(folder), None)["functions"]
    assert found["entries"] == ["0/0", "0/1", "0/2"]
    assert [row["id"] for row in found["rows"]] == ["0/0", "0/1", "0/2", "0/3"]
    assert [row["same"] for row in found["rows"]] == [False, False, True, False]
    assert found["rows"][3]["state"] == "python"
    texts = [[None if n is None else found["guards"][n]["actual"] for n in row["cells"]] for row in found["rows"]]
    assert texts == [[None, None, None], ["2", None, None], ["3", "3", None], ["3", "3", None]]
    assert found["guards"][found["rows"][2]["first"]]["guard"] == "L['n'] == 2"


def test_nothing_recompiled_is_no_panel(tmp_path):
    folder = made_dump(tmp_path, {"functions": [{"function": "f", "from": "a.py:1", "entries": [entry("0/0")]}]})
    assert recompilations_panel(DumpView(folder), None) is None
