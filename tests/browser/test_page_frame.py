"""The frame of a report in a browser: navigation, addresses, search, keys, themes, narrow and printed pages."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from depyf.views.report.report_page import write_report
from dumps_by_hand import write_dump

LONG = "".join(f"value_{number} = {number}\n" for number in range(10_000))


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page of a dump without torch."""
    folder = tmp_path_factory.mktemp("frame")
    texts = {
        "full_code_for_f_0.py": 'def f(x):\n    """Doc."""\n    return x + needle\n',
        "long.py": LONG,
        "empty.py": "",
    }
    return write_report(write_dump(folder / "dump", texts), folder / "report.html")


def focused(page: Any) -> str:
    return page.evaluate("document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent")


def test_first_panel_is_open_and_named(visit: Any, page_file: Path) -> None:
    page = visit(page_file)
    assert page.title() == "dump · depyf"
    assert page.locator("main section:visible").count() == 1
    current = page.locator("nav[aria-label=Panels] [aria-current=page]")
    assert current.inner_text() == page.locator("h1:visible").inner_text()


def test_a_deep_link_opens_a_file_at_a_line(visit: Any, page_file: Path) -> None:
    page = visit(page_file, "#files/long.py/7000")
    line = page.locator(".line.mark-selected")
    assert line.locator(".line-text").inner_text() == "value_6999 = 6999"
    assert line.get_attribute("aria-selected") == "true"
    box, view = line.bounding_box(), page.locator(".file-viewer .code").bounding_box()
    assert view["y"] < box["y"] < view["y"] + view["height"]


@pytest.mark.parametrize(
    ("address", "asked", "here"),
    [
        ("#nope", "the place nope", "Fix first"),
        ("#fix-first/zz", "the place zz of this panel", "Fix first"),
        ("#files/nope.py/3", "the file nope.py", "Files"),
        ("#files/long.py/10001", "line 10001 of long.py", "Files, long.py"),
        ("#files/long.py/x", "line x of long.py", "Files, long.py"),
    ],
)
def test_a_link_that_leads_nowhere_says_so_until_one_moves_on(
    visit: Any, page_file: Path, address: str, asked: str, here: str
) -> None:
    page = visit(page_file, address)
    said = page.locator("main").get_by_role("status").filter(has_text="The address asks")
    assert said.inner_text() == f"The address asks for {asked}, which is not in this report. Here is {here}."
    page.locator("nav[aria-label=Panels] a").last.click()
    page.locator("nav[aria-label=Files] a", has_text="long.py").click()
    page.get_by_text("value_0 = 0", exact=True).wait_for()
    assert said.count() == 0


def test_an_address_typed_in_an_open_page_says_so_too(visit: Any, page_file: Path) -> None:
    page = visit(page_file, "#files/long.py/7")
    page.evaluate("location.hash = '#files/gone.py'")
    page.get_by_text("The address asks for the file gone.py").wait_for()
    page.go_back()
    page.locator(".line.mark-selected").wait_for()
    assert page.get_by_text("The address asks").count() == 0


def test_a_file_of_10_000_lines_is_filled_where_it_is_seen(visit: Any, page_file: Path) -> None:
    page = visit(page_file, "#files/long.py")
    assert 100 < page.locator(".line").count() < 1000
    height = page.evaluate("document.querySelector('.code').scrollHeight")
    page.evaluate("document.querySelector('.code').scrollTop = 1e9")
    page.get_by_text("value_9999 = 9999", exact=True).wait_for()
    assert page.locator(".line").count() < 2000
    assert page.evaluate("document.querySelector('.code').scrollHeight") == height


def test_a_click_on_a_line_is_in_the_address_and_back_goes_back(visit: Any, page_file: Path) -> None:
    page = visit(page_file, "#files/full_code_for_f_0.py")
    page.locator(".line").nth(2).click()
    assert page.url.endswith("#files/full_code_for_f_0.py/3")
    page.locator("nav[aria-label=Files] a", has_text="long.py").click()
    page.get_by_text("value_0 = 0", exact=True).wait_for()
    page.go_back()
    page.get_by_text("x + needle").wait_for()
    assert page.locator(".line.mark-selected").count() == 1


def test_arrows_select_lines(visit: Any, page_file: Path) -> None:
    page = visit(page_file, "#files/full_code_for_f_0.py")
    page.locator(".code").focus()
    for key, line in (("ArrowDown", 1), ("ArrowDown", 2), ("ArrowUp", 1), ("End", 3), ("Home", 1)):
        page.keyboard.press(key)
        assert page.locator(".line.mark-selected").get_attribute("data-line") == str(line)
    active = page.locator(".code").get_attribute("aria-activedescendant")
    assert page.locator(f"#{active}").get_attribute("data-line") == "1"


def test_search_finds_a_line_and_goes_there(visit: Any, page_file: Path) -> None:
    page = visit(page_file)
    page.keyboard.press("/")
    page.keyboard.type("NEEDLE")
    hit = page.locator(".search-hit").first
    hit.wait_for()
    assert hit.locator("mark").inner_text() == "needle"
    page.keyboard.press("ArrowDown")
    assert hit.get_attribute("aria-selected") == "true"
    page.keyboard.press("Enter")
    page.locator(".line.mark-selected").wait_for()
    assert page.url.endswith("#files/full_code_for_f_0.py/3")
    page.locator("dialog").wait_for(state="detached")


def test_search_says_what_it_leaves_out_and_what_is_not_there(visit: Any, page_file: Path) -> None:
    page = visit(page_file)
    page.keyboard.press("/")
    page.keyboard.type("value_")
    page.get_by_text(re.compile(r"\d+ found, and 9940 more lines")).wait_for()
    page.locator(".search-field").fill("not anywhere")
    page.get_by_text("Nothing in this dump has this text.").wait_for()
    page.keyboard.press("Escape")
    page.locator("dialog").wait_for(state="detached")


def test_question_mark_lists_the_keys(visit: Any, page_file: Path) -> None:
    page = visit(page_file)
    page.keyboard.press("?")
    listed = page.get_by_role("dialog", name="Keyboard").inner_text()
    assert "search everything" in listed and "next panel" in listed
    page.keyboard.press("Escape")
    page.keyboard.press("[")
    assert page.locator("h1:visible").inner_text() == "Files"


def test_the_navigation_can_be_hidden(visit: Any, page_file: Path) -> None:
    page = visit(page_file)
    navigation, content = page.locator("nav[aria-label=Panels]"), page.locator("main")
    narrow = content.bounding_box()["width"]
    page.keyboard.press("\\")
    assert not navigation.is_visible() and content.bounding_box()["width"] > narrow + 150
    page.get_by_label("Navigation").click()
    assert navigation.is_visible() and content.bounding_box()["width"] == narrow


def test_keys_are_text_in_a_field(visit: Any, page_file: Path) -> None:
    page = visit(page_file, "#files")
    field = page.get_by_label("Filter files")
    field.click()
    page.keyboard.type("/?t")
    assert field.input_value() == "/?t" and page.locator("dialog").count() == 0


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_theme_is_the_systems_until_one_is_chosen(visit: Any, page_file: Path, theme: str) -> None:
    page = visit(page_file, theme=theme)
    other = {"light": "dark", "dark": "light"}[theme]
    assert page.evaluate("document.documentElement.dataset.theme") == theme
    page.get_by_label("Light or dark").click()
    assert page.evaluate("document.documentElement.dataset.theme") == other
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, re.findall(r"\d+", background)[:3])) > 380) == (other == "light")


@pytest.mark.parametrize("width", [400, 760, 1280])
def test_the_body_is_as_wide_as_the_window(visit: Any, page_file: Path, width: int) -> None:
    page = visit(page_file, "#files/long.py", width=width)
    for panel in page.locator("nav[aria-label=Panels] a").all():
        panel.click()
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate("document.querySelector('main').scrollWidth") <= width


def test_printed_page_is_light_and_whole(visit: Any, page_file: Path) -> None:
    page = visit(page_file, "#files/long.py", theme="dark")
    page.emulate_media(media="print", color_scheme="dark")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert not page.locator("nav[aria-label=Panels]").is_visible()
    assert page.locator(".line").count() == 10_000
    last = page.locator(".line").last.bounding_box()
    assert last["y"] > 100_000


def test_tab_reaches_everything_and_focus_is_seen(visit: Any, page_file: Path) -> None:
    page = visit(page_file, "#files/full_code_for_f_0.py")
    page.keyboard.press("Tab")
    assert focused(page) == "Skip to the content"
    seen = []
    for _ in range(14):
        page.keyboard.press("Tab")
        seen.append(focused(page))
        outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline != "none", seen[-1]
        if seen[-1] == "full_code_for_f_0.py":
            break
    assert {"Navigation", "depyf report", "Search everything", "Keyboard", "Light or dark", "Filter files"} <= set(seen)


CONTRAST = (Path(__file__).parent / "contrast.js").read_text("utf-8")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_has_contrast(visit: Any, page_file: Path, theme: str) -> None:
    """4.5 of every text that is seen (WCAG AA), 3 of large ones; in every panel, the search, the list of keys."""
    page = visit(page_file, "#files/full_code_for_f_0.py/2", theme=theme)
    for number in range(page.locator("nav[aria-label=Panels] a").count()):
        page.locator("nav[aria-label=Panels] a").nth(number).click()
        assert page.evaluate(CONTRAST) == []
    page.keyboard.press("?")
    assert page.evaluate(CONTRAST) == []
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    page.keyboard.type("needle")
    page.locator(".search-hit").first.wait_for()
    assert page.evaluate(CONTRAST) == []


def test_the_policy_forbids_every_request(page_file: Path) -> None:
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page_file.read_text("utf-8"))
    assert policy is not None and "default-src 'none'" in policy[1]
    assert "unsafe" not in policy[1] and "http" not in policy[1]


def test_what_is_missing_is_said(visit: Any, tmp_path: Path) -> None:
    dump = write_dump(tmp_path / "dump", {"a.py": "a\n", "b.py": "b\n"})
    (dump / "a.py").unlink()
    page = visit(write_report(dump, tmp_path / "report.html"))
    notice = page.locator("main > .notice")
    assert notice.locator("summary").inner_text() == "One thing cannot be shown"
    assert "a.py" in notice.inner_text()


def test_a_killed_run_without_a_manifest(visit: Any, tmp_path: Path) -> None:
    dump = write_dump(tmp_path / "dump", {"full_code_for_f_0.py": "killed = 1\n"})
    (dump / "manifest.json").unlink()
    page = visit(write_report(dump, tmp_path / "report.html"), "#files/full_code_for_f_0.py")
    assert "The run has not finished" in page.locator("main > .notice").inner_text()
    page.get_by_text("killed = 1").wait_for()


def test_a_title_and_addresses_that_are_strange(visit: Any, tmp_path: Path) -> None:
    dump = write_dump(tmp_path / "<b>dump", {"a b#?%.py": "here = 1\n"})
    page = visit(write_report(dump, tmp_path / "report.html"), "#files/%E0%A4/x")
    assert page.title() == "<b>dump · depyf"
    page.get_by_text("This page has no file").wait_for()
    page.locator("nav[aria-label=Files] a").first.click()
    page.get_by_text("here = 1").wait_for()
    address = json.dumps(page.url)
    assert "a%20b%23%3F%25.py" in address
