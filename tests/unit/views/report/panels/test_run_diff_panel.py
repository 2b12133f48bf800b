"""Two runs: what was fixed, what is new, what differs."""

from __future__ import annotations

from depyf.views.report.dump_view import DumpView
from depyf.views.report.panels.run_diff_panel import run_diff_panel
from made_dumps import entry, made_dump


def cause(text, line):
    return {
        "kind": "breaks", "function": "f", "at": f"a.py:{line}", "line": text, "asked": "", "module": "", "inside": "",
        "compile_ids": [], "caused": [], "costs": {"compilations": 0, "python": 0, "operations": 0, "breaks": 1},
        "text": "it breaks", "more": "", "advice": [], "functions": ["f"], "ran_as_python": [],
    }  # fmt: skip


def run(folder, causes, text, seconds):
    functions = [{"function": "f", "from": "a.py:1", "entries": [entry("0/0")]}]
    timings = {"seconds": {"0_0": {"entire_frame_compile_time": seconds}}}
    folder.mkdir()
    (folder / "full_code_for_f_0.py").write_text(text)
    files = [
        {
            "file": "full_code_for_f_0.py",
            "kind": "full_code",
            "function": "f",
            "from": ["a.py:1"],
            "compile_ids": ["0/0"],
        }
    ]
    return DumpView(
        made_dump(folder, {"functions": functions, "causes": causes, "files": files}, timings__json=timings)
    )


def test_causes_are_the_same_where_their_line_has_moved(tmp_path):
    one = run(tmp_path / "one", [cause("print(x)", 3), cause("x.item()", 5)], "def f(x):\n    return x + 1\n", 2.0)
    two = run(tmp_path / "two", [cause("x.item()", 6), cause("open(p)", 8)], "def f(x):\n    return x + 2\n", 1.0)
    data = run_diff_panel(one, two)
    (found,) = data["comparisons"]
    lines = {kind: [item["line"] for item in found["causes"][kind]] for kind in ("gone", "new", "kept")}
    assert lines == {"gone": ["print(x)"], "new": ["open(p)"], "kept": ["x.item()"]}
    assert [cell["seconds"] for cell in found["functions"][0]["cells"]] == [2.0, 1.0]
    (file,) = found["files"]
    assert (file["added"], file["removed"]) == (1, 1) and "+    return x + 2" in file["diff"]
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
