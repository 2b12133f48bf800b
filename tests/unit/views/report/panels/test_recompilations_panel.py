"""The matrix: calls by entries, repeats marked."""

from __future__ import annotations

from dataclasses import replace

from depyf.run.advice.registry import use
from depyf.run.causes.collect import causes_of
from depyf.run.causes.ways_out import WayOut
from depyf.run.places.place import Place
from depyf.run.records import RecompileRecord
from depyf.views.report.dump_view import DumpView
from depyf.views.report.panels.recompilations_panel import recompilations_panel
from made_dumps import compilation, entry, function, made_dump, refused, run_dump
from work import calls


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


def test_the_ways_out_are_those_of_fix_first(tmp_path, monkeypatch):
    view = DumpView(made_dump(tmp_path, {"functions": [{
        "function": "f", "from": "a.py:1",
        "entries": [entry("0/0"), entry("0/1", recompiled_because=[refused("0/0", "L['n'] == 1", "a.py:3", "1", "2")])],
    }]}))  # fmt: skip
    (cause,) = causes_of(view.run)
    ways = tuple(WayOut((use(id),)) for id in ("compile-dynamic", "no-static", "compile-once"))
    monkeypatch.setattr(DumpView, "causes", (replace(cause, ways=ways),))
    (found,) = recompilations_panel(view, None)["functions"]
    assert [row.get("ways") for row in found["rows"]] == [None, [way.text for way in ways[:2]]]


def test_what_is_needed_is_no_way_out(tmp_path):
    """A function that is trained and evaluated has two entries: there is nothing to change."""
    again = RecompileRecord("0/0", "grad mode", Place("a.py", 3), "on", "off", (use("with-and-without-gradients"),))
    folder = run_dump(tmp_path, function("0", "f", 1, compilation("0/0"), compilation("0/1", recompiles=(again,))))
    (found,) = recompilations_panel(DumpView(folder), None)["functions"]
    row = found["rows"][1]
    assert row["ways"] == [] and row["notes"][0].startswith("one entry for calls with gradients")


def test_nothing_recompiled_is_no_panel(tmp_path):
    folder = made_dump(tmp_path, {"functions": [{"function": "f", "from": "a.py:1", "entries": [entry("0/0")]}]})
    assert recompilations_panel(DumpView(folder), None) is None


def test_the_work_grows_with_the_guards_that_failed(tmp_path):
    """Entries that are gone are columns, too; each call was tried on all older ones."""

    class Entry(str):
        __hash__ = str.__hash__
        compared = 0

        def __eq__(self, other):
            Entry.compared += 1
            return str.__eq__(self, other)

    def work(count):
        view = DumpView(run_dump(tmp_path / str(count)))
        place = Place("a.py", 3)
        entries = [
            compilation(f"0/{new}", failed="gone", recompiles=tuple(
                RecompileRecord(Entry(f"0/{n}"), f"L['n'] == {n}", place, str(n), "9") for n in range(new)
            ))
            for new in range(count)
        ]  # fmt: skip
        view.run = replace(view.run, functions=(function("0", "f", 1, *entries),))
        Entry.compared = 0
        return calls(lambda: recompilations_panel(view, None)), Entry.compared

    few, many = work(32), work(64)
    assert many[0] < 4.5 * few[0]
    assert many[1] < 5 * (64 * 63 // 2)
