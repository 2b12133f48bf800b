"""The panels that answer: matrix, guards, time, graphs, on the page of a training loop; ranks and two runs by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from depyf.views.report.report_page import write_report
from made_dumps import compilation, entry, function, made_dump, run_dump


@pytest.mark.torch
def test_a_recompilation_names_its_guard(visit: Any, training_page: Path) -> None:
    page = visit(training_page, "#recompilations")
    mark = page.locator(".matrix .reason").first
    mark.hover()
    page.locator(".hover-card", has_text="did not fit").wait_for()


@pytest.mark.torch
def test_guards_are_searched(visit: Any, training_page: Path) -> None:
    page = visit(training_page, "#guards")
    before = page.locator(".guard-row").count()
    page.get_by_label("Filter guards").fill("size")
    page.get_by_text(" of ").first.wait_for()
    assert 0 < page.locator(".guard-row").count() < before


@pytest.mark.torch
def test_a_row_of_the_waterfall_opens(visit: Any, training_page: Path) -> None:
    page = visit(training_page, "#timeline")
    page.get_by_label("Phases of 0/0", exact=True).click()
    flame = page.locator(".flame", has_text="backend_compile").first
    flame.hover()
    page.locator(".hover-card", has_text="after it began").wait_for()


@pytest.mark.torch
def test_a_graph_is_drawn_and_its_boxes_lead_on(visit: Any, training_page: Path) -> None:
    page = visit(training_page, "#graphs")
    page.locator(".picture svg").wait_for()
    page.get_by_role("button", name="open all").click()
    assert page.locator(".graph-box").count() > 5
    assert page.locator(".graph-edge").count() > 4
    page.locator("a.graph-box").nth(1).click()
    page.locator("body:not([data-panel=graphs])").wait_for()


@pytest.mark.torch
def test_causes_are_put_in_order(visit: Any, training_page: Path) -> None:
    page = visit(training_page)
    assert all(text.endswith((" as Python", " break", " breaks", "recompilations", "recompilation"))
               for text in page.locator(".cause-seconds b").all_inner_texts())  # fmt: skip
    weights = page.locator(".cause-seconds .meter").evaluate_all(
        "meters => meters.map(meter => parseFloat(meter.style.getPropertyValue('--share')))"
    )
    assert len(weights) > 1 and weights == sorted(weights, reverse=True)
    page.get_by_label("Order").select_option("seconds")
    shown = page.locator(".cause-seconds b").all_inner_texts()
    seconds = [float(text.split()[0]) / (1 if text.endswith(" s") else 1000) for text in shown]
    assert seconds == sorted(seconds, reverse=True)


def test_ranks_stand_beside_each_other(visit: Any, tmp_path: Path) -> None:
    common = function("0", "f", 1, compilation("0/0"))
    run_dump(tmp_path / "rank_0", common, ranks=2)
    run_dump(tmp_path / "rank_1", common, function("1", "only_here", 9, compilation("1/0")), ranks=2)
    page = visit(write_report(tmp_path, tmp_path / "report.html"), "#ranks")
    assert page.locator("tr.differs", has_text="only_here").get_by_text("not compiled").count() == 1
    assert page.locator(".notice").count() == 0


def test_two_runs_say_what_changed(visit: Any, tmp_path: Path) -> None:
    broken = entry("0/0", graph_breaks=[{"at": "a.py:4", "cause": "print() writes"}])
    made_dump(tmp_path / "one", {"functions": [{"function": "f", "from": "a.py:1", "entries": [broken]}]})
    made_dump(tmp_path / "two", {"functions": [{"function": "f", "from": "a.py:1", "entries": [entry("0/0")]}]})
    page = visit(write_report(tmp_path / "one", tmp_path / "report.html", tmp_path / "two"), "#run-diff", theme="dark")
    page.get_by_text("only 1 breaks the graph at a.py:4").wait_for()


@pytest.mark.torch
def test_a_place_leads_to_the_line_of_the_program(visit: Any, training_page: Path) -> None:
    page = visit(training_page, "#fix-first")
    page.locator(".cause a.place").first.click()
    page.locator("body[data-panel=source]").wait_for()
    page.locator("section:visible .line.mark-selected").wait_for()
