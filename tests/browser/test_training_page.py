"""The page of a training loop: every panel opens, in both themes and on a narrow page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

CONTRAST = (Path(__file__).parent / "contrast.js").read_text("utf-8")


@pytest.mark.torch
@pytest.mark.parametrize(("theme", "width"), [("light", 1280), ("dark", 1280), ("light", 400)])
def test_every_panel_opens(visit: Any, training_page: Path, theme: str, width: int) -> None:
    page = visit(training_page, theme=theme, width=width)
    for number in range(page.locator("nav[aria-label=Panels] a").count()):
        link = page.locator("nav[aria-label=Panels] a").nth(number)
        link.click()
        name = link.inner_text()
        page.locator("main section:visible .panel-body > *").first.wait_for(state="attached")
        assert page.locator("[role=alert]").count() == 0, name
        assert page.locator("h1:visible").inner_text() == name
        assert page.evaluate("document.documentElement.scrollWidth") <= width, name
        assert page.evaluate("document.querySelector('main').scrollWidth") <= width, name
        assert page.evaluate(CONTRAST) == [], name


@pytest.mark.torch
def test_search_reaches_lines_and_panels(visit: Any, training_page: Path) -> None:
    page = visit(training_page)
    page.keyboard.press("/")
    page.keyboard.type("x.mean().item()")
    page.get_by_text("Fix first", exact=True).first.wait_for()
    page.locator(".search-section", has_text="Captured_Graph").first.wait_for()


@pytest.mark.torch
def test_page_is_small(training_page: Path) -> None:
    assert training_page.stat().st_size < 500_000
