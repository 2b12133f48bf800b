"""Guards by line, with the entries that have them."""

from __future__ import annotations

from dataclasses import replace

from depyf.run.guards.unguarded_value import UnguardedValue, WhyUnguarded
from depyf.run.places.place import Place
from depyf.run.records import GuardRecord
from depyf.views.report.dump_view import DumpView
from depyf.views.report.panels.guards_panel import guards_panel
from made_dumps import compilation, entry, function, made_dump, run_dump


def guard(expression, line=0, **more):
    place = Place("a.py", line, "f", f"line {line}") if line else None
    return replace(GuardRecord("EQUALS", expression, expression, place=place), **more)


def test_entries_stand_in_order_and_guards_by_line(tmp_path):
    two, grad, one = guard("n == 2", 9, value="3", holds=False), guard("grad mode"), guard("n == 1", 3)
    entries = compilation("0/1", guards=(two, grad)), compilation("0/0", guards=(one, grad))
    data = guards_panel(DumpView(run_dump(tmp_path, function("0", "f", 1, *entries))), None)
    assert [(e["id"], e["function"]) for e in data["entries"]] == [("0/0", "f"), ("0/1", "f")]
    assert [(g["expression"], g["entries"]) for g in data["guards"]] == [
        ("n == 1", [0]),
        ("n == 2", [1]),
        ("grad mode", [0, 1]),
    ]
    assert data["guards"][1]["value"] == "3" and data["guards"][1]["holds"] is False
    assert data["guards"][0]["at"] == "a.py:3" and data["guards"][0]["line"] == "line 3"


def test_what_a_page_cannot_tell_apart_is_one(tmp_path):
    alike = guard("n == 1", 3), guard("n == 1", 3, text="torch's own words of it")
    entries = compilation("0/0", guards=alike[:1]), compilation("0/1", guards=alike[1:])
    data = guards_panel(DumpView(run_dump(tmp_path, function("0", "f", 1, *entries))), None)
    assert [g["entries"] for g in data["guards"]] == [[0, 1]]


def test_a_dump_without_guards_has_no_panel(tmp_path):
    assert guards_panel(DumpView(run_dump(tmp_path, function("0", "f", 1, compilation("0/0")))), None) is None


def test_guards_of_an_earlier_depyf(tmp_path):
    """They are in ``guards.json``; where that is damaged, the rest is shown."""
    functions = {"functions": [{"function": "f", "from": "a.py:1", "entries": [entry("0/0")]}]}
    page = {
        "entries": [{"compile_id": "0/0", "generation": 0, "state": "live", "guards": [0]}],
        "guards": [{"kind": "EQUALS", "expression": "n == 1", "at": "a.py:3"}],
    }
    data = guards_panel(DumpView(made_dump(tmp_path / "a", functions, guards__json=page)), None)
    assert [(g["expression"], g["entries"]) for g in data["guards"]] == [("n == 1", [0])]
    assert guards_panel(DumpView(made_dump(tmp_path / "b", functions, guards__json=[1])), None) is None
    assert guards_panel(DumpView(made_dump(tmp_path / "c", functions, guards__json="no JSON")), None) is None


def test_what_no_guard_looks_at_stands_by_the_line_that_reads_it(tmp_path):
    """Also where an entry has no guard at all."""
    place = Place("a.py", 7, "f", "return x * self.factor")
    value = UnguardedValue("self.factor", place, WhyUnguarded.FILTER, "a guard_filter_fn dropped it")
    constant = UnguardedValue("math.pi", place, WhyUnguarded.LIBRARY, "a constant of math")
    entries = compilation("0/0", unguarded=(value, constant)), compilation("0/1", unguarded=(value,))
    data = guards_panel(DumpView(run_dump(tmp_path, function("0", "f", 1, *entries))), None)
    assert [(g["expression"], g["entries"], g["likely"]) for g in data["guards"]] == [
        ("self.factor", [0, 1], True),
        ("math.pi", [0], False),
    ]
    assert data["guards"][0]["at"] == "a.py:7" and data["guards"][0]["unguarded"] == "a guard_filter_fn dropped it"


def test_what_an_artefact_serves_alone_has_the_values_and_a_call_that_raises(tmp_path):
    entries = (
        compilation(
            "0/0", guards=(guard("same_value(L['n'], 2)", 3), guard("same_value(L['k'], 1)", 4)), captured=True
        ),
        compilation("0/1", guards=(guard("same_value(L['n'], 5)", 3),), captured=True),
    )
    of_two = function("0", "f", 1, *entries)
    of_two = replace(of_two, code=replace(of_two.code, args=("n", "k")))
    data = guards_panel(DumpView(run_dump(tmp_path, of_two)), None)
    served = {g["expression"]: (g["served"], g["raises"]) for g in data["guards"] if "served" in g}
    assert served.keys() == {"same_value(L['n'], 2)", "same_value(L['k'], 1)"}
    assert served["same_value(L['n'], 2)"][0] == "n == 2 or n == 5"
    assert served["same_value(L['k'], 1)"][1] == ["f(n=2, k=2)"]
