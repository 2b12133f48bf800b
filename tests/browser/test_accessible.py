"""Every panel of a report as axe-core sees it: roles, names, contrast, order, in light and dark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import needs
from tools.env import javascript

AXE = javascript.MODULES / "axe-core" / "axe.min.js"
RULES = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice")


@pytest.fixture(scope="module")
def axe() -> str:
    """The text of axe-core (MPL-2.0, a tool of the tests only), of the version in package-lock.json."""
    if javascript.install() or not AXE.is_file():
        needs.missing("axe-core", "npm ci", needs.REQUIRE_BROWSER)
    return AXE.read_text("utf-8")


def faults(page: Any, axe: str) -> list[str]:
    page.evaluate(axe)
    found = page.evaluate(
        "async (rules) => (await axe.run(document, {runOnly: rules, resultTypes: ['violations']})).violations",
        list(RULES),
    )
    return [
        f"{rule['id']}: {node['html'][:120]} {node['failureSummary'][:200]}"
        for rule in found
        for node in rule["nodes"][:3]
    ]


@pytest.mark.torch
@pytest.mark.parametrize("theme", ("light", "dark"))
def test_every_panel(visit: Any, training_page: Path, axe: str, theme: str) -> None:
    page = visit(training_page, theme=theme)
    panels = page.locator("nav[aria-label=Panels] a").evaluate_all("(links) => links.map((link) => link.hash)")
    assert len(panels) > 8
    found: dict[str, list[str]] = {}
    for panel in panels:
        page.evaluate("(hash) => { location.hash = hash; }", panel)
        page.locator("main section:visible h1").wait_for()
        page.wait_for_timeout(400)
        found[panel] = faults(page, axe)
    assert not {panel: list_ for panel, list_ in found.items() if list_}
