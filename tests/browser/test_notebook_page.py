"""The page inside a notebook: in a frame without storage and without an address of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

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
    context.close()
    assert said == []
