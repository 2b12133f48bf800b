"""What an artefact of precompile serves alone, by torch's rule, from the records of a run."""

from dataclasses import replace

import pytest

from depyf.actions.explaining.explanation import Report
from depyf.actions.explaining.notebook_view import explain_html
from depyf.run.guards.broken_guards import left_out, other_value
from depyf.run.guards.served_values import RAISES, served_values
from depyf.run.made import Made
from depyf.run.places.place import Place
from depyf.run.records import GuardRecord
from depyf.run.run import Run
from made_dumps import compilation, function, run_dump

LINE = Place("a.py", 3, "f", "return x * n")


def guard(expression, **more):
    return GuardRecord("EQUALS_MATCH", expression, expression, place=LINE, **more)


def captured(*guards, number=0, **more):
    return compilation(f"0/{number}", guards=tuple(map(guard, guards)), captured=True, **more)


def served(*entries):
    return {one.said: [way.text for way in one.ways] for one in served_values(function("0", "f", 1, *entries))}


def test_a_value_that_all_variants_want():
    assert served(captured("same_value(L['n'], 2)")) == {"n == 2": ["f(x, n=3)"]}


def test_an_argument_that_has_to_be_named():
    of = function("0", "f", 1, captured("L['flag'] is True"))
    of = replace(of, code=replace(of.code, kwonly=("flag",)))
    assert [way.text for one in served_values(of) for way in one.ways] == ["f(x, n, flag=False)"]


def test_the_call_has_a_value_that_no_variant_serves():
    entries = captured("same_value(L['n'], 2)"), captured("same_value(L['n'], 3)", number=1)
    assert served(*entries) == {"n == 2 or n == 3": ["f(x, n=4)"]}


def test_no_call_is_made_up_where_both_flags_are_served():
    entries = captured("L['n'] is True"), captured("L['n'] is False", number=1)
    assert served(*entries) == {"n is True or n is False": []}


def test_a_variant_that_takes_any_number_serves_others():
    assert served(captured("same_value(L['n'], 2)"), captured("check_type(L['n'], int)", number=1)) == {}


def test_what_an_argument_holds_is_no_argument():
    assert served(captured("same_value(L['n'].eps, 2)", "same_value(G['SCALE'], 3.0)")) == {}


def test_an_artefact_that_was_loaded():
    loaded = replace(captured("same_value(L['n'], 2)"), captured=False, made=Made.PRECOMPILED)
    assert served(loaded) == {"n == 2": ["compiled(x, n=3)"]}


def test_nothing_of_what_no_capture_stores():
    assert served(replace(captured("same_value(L['n'], 2)"), captured=False)) == {}
    assert served(replace(captured("same_value(L['n'], 2)"), failed="an error")) == {}


def test_no_call_of_the_rest_after_a_graph_break():
    rest = function("1", "f", 1, captured("same_value(L['n'], 2)"), resume_of=(0, "0"))
    assert [(one.said, one.ways) for one in served_values(rest)] == [("n == 2", ())]


def test_a_guard_is_risky_in_the_variants_before_torch_knew_it():
    def dropped(risky):
        return (replace(guard("same_object(L['n'].act.__code__, 1)"), source="L['n'].act", risky=risky),)

    first, second = captured(left_out=dropped(False)), captured(number=1, left_out=dropped(True))
    of = function("0", "f", 1, first, second)
    assert [one.risky for one in left_out(of, first).guards] == [True]
    alone = replace(of, entries=(first, replace(second, captured=False)))
    assert [one.risky for one in left_out(alone, first).guards] == [False]


def test_the_index_and_the_page_say_it(tmp_path):
    index = (run_dump(tmp_path, function("0", "f", 1, captured("same_value(L['n'], 2)"))) / "index.md").read_text()
    assert "## Served for these values alone" in index
    assert "raises PrecompileError" in index
    assert "`n == 2` at a.py:3 `return x * n`; raises: `f(x, n=3)`" in index


@pytest.mark.parametrize(
    "values, other",
    [
        (["1"], "2"),
        (["1", "2"], "3"),
        (["True", "False"], ""),
        (["None"], "1"),
        (["None", "1"], "2"),
        (["'a'"], "'a_2'"),
    ],
)
def test_another_value(values, other):
    assert other_value(values) == other


def test_explain_says_it_in_all_its_forms():
    of = function("0", "f", 1, captured("same_value(L['n'], 2)"))
    report = Report(Run("2.15.0", "3.12", (of,)), of)
    said = f"of torch.compiler.precompile: {RAISES}:\n    n == 2  # raises: f(x, n=3)"
    assert said in str(report)
    assert report.to_json()["served"] == [{"values": "n == 2", "from": "a.py:3 in f", "raises": [["f(x, n=3)"]]}]
    assert "raises: f(x, n=3)" in explain_html(report)
    assert "serves no other" not in str(Report(Run("", ""), function("0", "f", 1, compilation("0/0"))))
