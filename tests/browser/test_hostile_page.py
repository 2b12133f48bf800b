"""A dump in which every text tries to become markup or script: on the page, text is text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from depyf.views.report.report_page import write_report
from dumps_by_hand import HOSTILE, made_hostile, write_dump


@pytest.fixture(scope="module", params=["by hand", "training loop"])
def hostile_page(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile")
    if request.param == "by hand":
        dump = write_dump(folder / "plain", {"full_code_for_f_0.py": 'def f(x):\n    """Doc."""\n    return x\n'})
    else:
        dump = request.getfixturevalue("training_dump")
    return write_report(made_hostile(dump, folder / HOSTILE.replace("/", "")), folder / "report.html")


def unharmed(page: Any) -> None:
    assert page.evaluate("window.pwned") is None
    assert page.locator("img, iframe, object, embed, base, style:not(head style), link").count() == 0
    assert page.evaluate("[...document.scripts].filter((one) => !one.type).length") == 1
    assert page.locator("body").is_visible()


def test_every_panel_shows_it_as_text(visit: Any, hostile_page: Path) -> None:
    page = visit(hostile_page)
    unharmed(page)
    for number in range(page.locator("nav[aria-label=Panels] a").count()):
        link = page.locator("nav[aria-label=Panels] a").nth(number)
        link.click()
        page.locator("main section:visible .panel-body > *").first.wait_for(state="attached")
        assert page.locator("[role=alert]").count() == 0, link.inner_text()
        unharmed(page)


def test_search_shows_it_as_text(visit: Any, hostile_page: Path) -> None:
    page = visit(hostile_page)
    page.keyboard.press("/")
    page.keyboard.type("window.pwned")
    page.locator(".search-hit").first.wait_for()
    assert page.locator(".search-hit mark").first.inner_text() == "window.pwned"
    unharmed(page)


def test_a_file_with_such_a_name_opens(visit: Any, hostile_page: Path) -> None:
    page = visit(hostile_page, "#files")
    page.get_by_label("Filter files").fill("x'\"><img")
    page.locator("nav[aria-label=Files] a").click()
    page.locator(".file-head", has_text="<img src=x").wait_for()
    page.get_by_text("window.pwned=1").first.wait_for()
    unharmed(page)
