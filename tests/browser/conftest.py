"""Chromium, pages of dumps, and what every page must keep: no message on the console, no error, no request."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import needs
from depyf.views.report.report_page import write_report

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "training_loop.py"
Visit = Callable[..., Any]


@pytest.fixture(scope="session", autouse=True)
def chromium_is_here() -> None:
    """Asked before any dump is made: where there is no browser, no test needs one."""
    needs.need_program("chromium")


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """A headless Chromium.  For one file of tests: while it runs, the thread has an event loop that is running."""
    program = needs.need_program("chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        needs.missing("playwright", "make env", needs.REQUIRE_BROWSER)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(program), args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def visit(chromium: Any) -> Iterator[Visit]:
    """Open a page: ``visit(file, "#files/a.py/3", theme="dark", width=400)``; returns Playwright's page, when it is ready.

    At the end: nothing was on any page's console, no error, and no request but for the page itself.
    """
    contexts = []
    said: list[str] = []
    asked: list[str] = []

    def open_page(file: Path, address: str = "", *, theme: str = "light", width: int = 1280, height: int = 800) -> Any:
        context = chromium.new_context(viewport={"width": width, "height": height}, color_scheme=theme)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.on("console", lambda message: said.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: said.append(f"error: {error}"))
        page.on("dialog", lambda dialog: (said.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(file.as_uri() + address)
        page.wait_for_selector("html[data-ready]")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert said == []
    assert {url for url in asked if not url.startswith("file:")} == set()
    assert len(asked) == len(contexts)


@pytest.fixture(scope="session")
def training_dump(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The dump of ``examples/training_loop.py``: a graph break, a recompilation, a dynamic dimension, a backward.  One for all
    processes of a run."""
    pytest.importorskip("torch")
    shared = tmp_path_factory.getbasetemp()
    if os.environ.get("PYTEST_XDIST_WORKER"):
        shared = shared.parent
    folder = shared / "training_dump"
    with open(shared / "training_dump.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.is_dir():
            unfinished = shared / "training_dump.unfinished"
            command = [sys.executable, EXAMPLE, unfinished]
            done = subprocess.run(command, capture_output=True, text=True, timeout=600)
            assert done.returncode == 0, done.stderr[-2000:]
            unfinished.rename(folder)
    return folder


@pytest.fixture(scope="session")
def training_page(training_dump: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its report."""
    return write_report(training_dump, tmp_path_factory.mktemp("page") / "report.html")
