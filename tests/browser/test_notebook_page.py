"""The page inside a notebook: in a frame without storage and without an address of its own."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from depyf.views.pages import notebook
from depyf.views.report.notebook_frame import NotebookFrame
from dumps_by_hand import write_dump


def test_panels_and_files_open_in_the_frame(chromium: Any, tmp_path: Path) -> None:
    frame = NotebookFrame(write_dump(tmp_path / "dump", {"a.py": "first = 1\n", "b.py": "second = 2\n"}))
    notebook = tmp_path / "notebook.html"
    notebook.write_text(f"<!doctype html><title>Notebook</title>{frame._repr_html_()}", encoding="utf-8")
    context = chromium.new_context()
    page = context.new_page()
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(notebook.as_uri())
    inside = page.frame_locator("iframe")
    inside.locator("nav[aria-label=Panels] a", has_text="Files").click()
    inside.locator("nav[aria-label=Files] a", has_text="b.py").click()
    inside.get_by_text("second = 2").wait_for()
    inside.locator(".line").first.click()
    inside.get_by_label("Light or dark").click()
    inside.locator("body").press("/")
    page.keyboard.type("first =")
    inside.locator(".search-hit").first.click()
    inside.get_by_text("first = 1").wait_for()
    assert page.url == notebook.as_uri()
    assert "Where it does not show: .save(path) writes it" in page.inner_text("body")
    context.close()
    assert said == []


def test_a_report_reads_as_well_where_its_style_is_taken_away(chromium: Any, tmp_path: Path) -> None:
    made = notebook.report(
        "f", "a.py:3", notebook.line(notebook.chip("way out", "good"), "torch.cond"),
        notebook.folded(notebook.joined([notebook.chip("0/1"), "1 graph"]), notebook.source("a.py:6", "if x:"), opened=True),
        chips=[notebook.fact("2 graphs"), notebook.fact("1 break", "warn")],
    )  # fmt: skip
    page = chromium.new_context().new_page()
    shown = {}
    for name, text in (("styled", made), ("bare", re.sub("<style>.*?</style>", "", made, flags=re.S))):
        (tmp_path / f"{name}.html").write_text(f"<!doctype html><title>Notebook</title>{text}", encoding="utf-8")
        page.goto((tmp_path / f"{name}.html").as_uri())
        shown[name] = page.inner_text("body").split("\n")
        if name == "styled":
            boxes = page.eval_on_selector_all(".unseen", "all => all.map(one => one.getBoundingClientRect().width)")
            assert boxes and max(boxes) <= 1, "frames and places say it"
    page.context.close()
    wanted = ["f a.py:3 2 graphs, 1 break", "way out: torch.cond", "0/1: 1 graph", "a.py:6: if x:"]
    assert [line for line in shown["bare"] if line] == wanted
