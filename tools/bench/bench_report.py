"""How large the page of a dump is, how long ``depyf report`` takes, and how soon a browser shows it and each of its panels.

python -m tools.bench.bench_report DUMP... [--panels]

Seconds are of this machine, the median of three openings from disk in headless Chromium; "opens" is from the start of the
navigation until the first panel is filled.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from depyf.views.report.report_page import write_report
from tools.env import browser

TIMES = 3


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dumps", nargs="+", type=Path, metavar="DUMP", help="folders of dumps")
    parser.add_argument("--panels", action="store_true", help="a line for each panel, too")
    options = parser.parse_args(argv)
    program = browser.PROGRAMS["chromium"].find()
    if program is None:
        print("bench_report: no Chromium on this machine (make browser)", file=sys.stderr)
        return 1
    from playwright.sync_api import sync_playwright

    print(f"{'dump':32} {'dump kB':>8} {'page kB':>8} {'written':>8} {'opens':>8}")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=str(program), args=["--no-sandbox"])
        chromium.new_page().close()
        for dump in options.dumps:
            start = time.perf_counter()
            page = write_report(dump, Path(folder) / "report.html")
            written = time.perf_counter() - start
            opened = statistics.median(opening(chromium, page) for _ in range(TIMES))
            size = sum(path.stat().st_size for path in dump.rglob("*") if path.is_file())
            print(
                f"{dump.name[:32]:32} {size / 1000:8.0f} {page.stat().st_size / 1000:8.0f} {written:6.2f} s {opened:6.2f} s"
            )
            if options.panels:
                for title, seconds in panels(chromium, page):
                    print(f"    {title:28} {seconds:6.2f} s")
        chromium.close()
    return 0


def opening(chromium: Any, file: Path) -> float:
    context = chromium.new_context(viewport={"width": 1280, "height": 800})
    page = context.new_page()
    page.goto(file.as_uri(), wait_until="commit")
    page.wait_for_selector("html[data-ready]", state="attached")
    seconds: float = page.evaluate("Number(document.documentElement.dataset.ready) / 1000")
    context.close()
    return seconds


def panels(chromium: Any, file: Path) -> list[tuple[str, float]]:
    """Title and seconds of each panel, from the click until it is filled and painted."""
    context = chromium.new_context(viewport={"width": 1280, "height": 800})
    page = context.new_page()
    page.goto(file.as_uri())
    page.wait_for_selector("html[data-ready]", state="attached")
    found = []
    for link in page.locator("nav[aria-label=Panels] a").all()[1:]:
        start = page.evaluate("performance.now()")
        link.evaluate("(link) => link.click()")
        name = link.get_attribute("data-panel")
        page.wait_for_selector(f"#panel-{name}[data-filled]", state="attached", timeout=60_000)
        end = page.evaluate(
            "() => new Promise((done) => requestAnimationFrame(() => setTimeout(() => done(performance.now()))))"
        )
        found.append((link.inner_text(), (end - start) / 1000))
    context.close()
    return found


if __name__ == "__main__":
    sys.exit(main())
