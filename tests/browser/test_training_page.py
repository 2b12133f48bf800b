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
        assert page.evaluate("document.documentElement.scrollHeight") == 800, name
        assert page.evaluate(CONTRAST) == [], name


@pytest.mark.torch
@pytest.mark.parametrize(
    ("address", "asked", "here"),
    [
        ("#source/zzz/9999", "the program's file zzz", "My source, training_loop.py"),
        ("#source/training_loop.py/9999", "line 9999 of training_loop.py", "My source, training_loop.py"),
        ("#graphs/9/9", "the graph 9", "Graphs"),
        ("#99/9", "the compilation 99/9", "Chain"),
        ("#0/0/nothing", "the stage nothing of 0/0", "Chain, 0/0"),
        ("#passes/a/b", "the pair of files that a is in", "Passes"),
        ("#guards/1", "the place 1 of this panel", "Guards"),
    ],
)
def test_a_link_that_leads_nowhere_says_so(
    visit: Any, training_page: Path, address: str, asked: str, here: str
) -> None:
    page = visit(training_page, address)
    said = page.locator("main").get_by_role("status").filter(has_text="The address asks").inner_text()
    assert said.startswith(f"The address asks for {asked}, which is not in this report. Here is {here}")


@pytest.mark.torch
@pytest.mark.parametrize("width", [400, 1280])
def test_the_head_stays_where_an_address_names_an_element(visit: Any, training_page: Path, width: int) -> None:
    """``#content`` is what the skip link names: the browser scrolls to it."""
    page = visit(training_page, "#content", width=width)
    page.evaluate("location.hash = '#fix-first'")
    page.locator("#panel-fix-first .tiles").wait_for()
    assert page.locator(".head").bounding_box()["y"] == 0
    assert page.evaluate("[document.documentElement.scrollTop, document.documentElement.scrollHeight]") == [0, 800]


@pytest.mark.torch
@pytest.mark.parametrize("width", [400, 1280])
def test_a_long_value_of_a_guard_is_cut_with_dots(visit: Any, training_page: Path, width: int) -> None:
    page = visit(training_page, "#guards", width=width)
    badge = page.locator(".guard-row > .badge").first
    badge.evaluate("element => element.textContent = 'is builtin_function_or_method '.repeat(9)")
    cut = badge.evaluate("e => [e.scrollWidth > e.clientWidth, getComputedStyle(e).textOverflow]")
    assert cut == [True, "ellipsis"]
    assert badge.evaluate("element => getComputedStyle(element).display") in ("block", "inline-block")


@pytest.mark.torch
def test_a_cause_has_the_width_of_a_narrow_window(visit: Any, training_page: Path) -> None:
    page = visit(training_page, "#fix-first", width=400)
    for cause in page.locator(".cause").all():
        assert cause.locator(".cause-body").bounding_box()["width"] > 0.85 * cause.bounding_box()["width"]


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
