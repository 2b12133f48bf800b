"""The pictures of a report in README.md and docs/: ``examples/training_loop.py`` recorded, its page photographed in Chromium.

python -m tools.docs.screenshots [DUMP]       DUMP: an existing dump of the example, instead of a new one

What they look like depends on the machine's fonts: Debian's fonts-inter and fonts-jetbrains-mono are the ones in the repository's.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from depyf.views.report.report_page import write_report
from tools import ROOT
from tools.env import browser

PICTURES = ROOT / "docs" / "_static"


@dataclass(frozen=True)
class Picture:
    """A picture: its file, the address in the page, the theme, and the keys that are pressed before."""

    file: str
    address: str
    theme: str = "light"
    keys: tuple[str, ...] = ()
    width: int = 1280
    height: int = 760


SHOTS = (
    Picture("report.png", ""),
    Picture("report-source.png", "#source"),
    Picture("report-chain.png", "#0/0/Captured_Graph/23", "dark", ("\\",)),
)


def photograph(chromium: Any, page_file: Path, shot: Picture) -> Path:
    """Take one picture, and return its path."""
    context = chromium.new_context(
        viewport={"width": shot.width, "height": shot.height}, color_scheme=shot.theme, reduced_motion="reduce"
    )
    page = context.new_page()
    page.goto(page_file.as_uri() + shot.address)
    page.wait_for_selector("html[data-ready]", state="attached")
    for key in shot.keys:
        page.keyboard.press(key)
    page.wait_for_timeout(300)  # what scrolls has come to rest
    path = PICTURES / shot.file
    page.screenshot(path=path)
    context.close()
    return path


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dump", nargs="?", type=Path, metavar="DUMP")
    options = parser.parse_args(argv)
    program = browser.PROGRAMS["chromium"].find()
    if program is None:
        print("screenshots: no Chromium on this machine (make browser)", file=sys.stderr)
        return 1
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        dump = options.dump or Path(name) / "training_loop"
        if options.dump is None:
            subprocess.run([sys.executable, ROOT / "examples" / "training_loop.py", dump], check=True)
        page = write_report(dump, Path(name) / "report.html")
        PICTURES.mkdir(exist_ok=True)
        chromium = playwright.chromium.launch(executable_path=str(program), args=["--no-sandbox"])
        for shot in SHOTS:
            path = photograph(chromium, page, shot)
            print(f"{path.relative_to(ROOT)}: {path.stat().st_size / 1000:.0f} kB")
        chromium.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
