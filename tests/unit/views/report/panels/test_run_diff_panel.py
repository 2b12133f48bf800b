"""Two runs: what was fixed, what is new, what differs."""

from __future__ import annotations

from dataclasses import replace

from depyf.run.places.place import Place
from depyf.run.records import BreakRecord
from depyf.views.report.dump_view import DumpView
from depyf.views.report.panels.run_diff_panel import run_diff_panel
from made_dumps import compilation, function, run_dump


def broke(text, line):
    """A break that is no one else's: the line is its own reason."""
    return BreakRecord("", Place("a.py", line, "f", text), text, "it breaks", "", (), "", False)


def run(folder, breaks, text, seconds):
    made = function("0", "f", 1, compilation("0/0", breaks=tuple(breaks)))
    code = replace(made.code, source=text)
    return DumpView(run_dump(folder, replace(made, code=code), seconds={"0/0": seconds}))


def test_causes_are_the_same_where_their_line_has_moved(tmp_path):
    one = run(tmp_path / "one", [broke("print(x)", 3), broke("x.item()", 5)], "def f(x):\n    return x + 1\n", 2.0)
    two = run(tmp_path / "two", [broke("x.item()", 6), broke("open(p)", 8)], "def f(x):\n    return x + 2\n", 1.0)
    data = run_diff_panel(one, two)
    (found,) = data["comparisons"]
    lines = {kind: [item["line"] for item in found["causes"][kind]] for kind in ("gone", "new", "kept")}
    assert lines == {"gone": ["print(x)"], "new": ["open(p)"], "kept": ["x.item()"]}
    assert [cell["seconds"] for cell in found["functions"][0]["cells"]] == [2.0, 1.0]
    assert found["files"], "the function has changed"
    assert (data["first"]["name"], data["second"]["name"]) == ("one", "two")


def test_one_dump_has_no_panel_and_ranks_are_compared_one_by_one(tmp_path):
    assert run_diff_panel(run(tmp_path / "one", [], "", 1.0), None) is None
    for side in ("a", "b"):
        for rank in (0, 1):
            (tmp_path / side).mkdir(exist_ok=True)
            run(tmp_path / side / f"rank_{rank}", [], "", 1.0)
    data = run_diff_panel(DumpView(tmp_path / "a"), DumpView(tmp_path / "b"))
    assert [found["rank"] for found in data["comparisons"]] == [0, 1]
    assert all(found["equal"] for found in data["comparisons"])
