"""Sizes and memory under the names that all panels use."""

from __future__ import annotations

from depyf.run.places.place import Place
from depyf.run.records import ShapeFact, SymbolRecord
from depyf.views.report.dump_view import DumpView
from depyf.views.report.panels.memory_panel import memory_panel
from depyf.views.report.panels.shapes_panel import shapes_panel
from made_dumps import compilation, entry, function, made_dump, run_dump

LINE = Place("a.py", 5, "f", "return x.view(4, -1)")
SIZE = SymbolRecord("s0", "L['x'].size()[0]", "8", "[2, int_oo]", LINE, final="[4, 64]")
RESUMED = "torch_dynamo_resume_in_f_at_4"


def test_what_goes_on_after_a_break_has_the_name_of_its_function(tmp_path):
    facts = (ShapeFact("Eq(Mod(s0, 4), 0)", LINE, "view"),)
    folder = run_dump(
        tmp_path,
        function("0", "f", 1, compilation("0/0")),
        function("1", RESUMED, 4, compilation("1/0", symbols=(SIZE,), shape_facts=facts), resume_of=(0, "0")),
    )
    (found,) = shapes_panel(DumpView(folder), None)["functions"]
    assert found["function"] == "f, after line 4" and found["frame"] == {"compile_id": "1", "generation": 0}
    (size,) = found["sizes"]
    assert size["may_be"] == "multiples of 4 from 4 to 64"
    assert size["decided_by"][:1] == [{"at": "a.py:5", "line": LINE.text, "operator": "view"}]


def test_constant_sizes_have_no_panel(tmp_path):
    assert shapes_panel(DumpView(run_dump(tmp_path, function("0", "f", 1, compilation("0/0")))), None) is None


PLAN = {"peak": 8, "total": 8, "buffers": 1, "unknown": []}
MEMORY = {"compile_id": "1/0", "generation": 0, "function": RESUMED, "from": "a.py:4", "sizes": {}, "kept": None, "forward": PLAN, "backward": None}  # fmt: skip
FUNCTIONS = [
    {"function": "f", "from": "a.py:1", "entries": [entry("0/0")]},
    {"function": RESUMED, "from": "a.py:4", "resume_of": "0", "entries": [entry("1/0")]},
]


def memory(folder, page):
    view = DumpView(made_dump(folder, {"functions": FUNCTIONS}, memory__json=page))
    return memory_panel(view, None), view.missing[1:]


def test_memory_is_shown_as_it_is_stored(tmp_path):
    found, missing = memory(tmp_path, {"graphs": [MEMORY]})
    assert found == {"graphs": [{**MEMORY, "function": "f, after line 4"}]} and missing == []


def test_memory_of_another_form_is_told(tmp_path):
    assert memory(tmp_path / "a", {"graphs": []}) == (None, [])
    for number, page in enumerate(([], {"graphs": [3]}, {"graphs": [{**MEMORY, "forward": {**PLAN, "peak": "8"}}]})):
        found, missing = memory(tmp_path / str(number), page)
        assert found is None and ["memory.json" in line for line in missing] == [True]
