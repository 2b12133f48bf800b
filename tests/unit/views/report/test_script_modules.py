"""The modules of the page's script, and the one script that is made of them."""

from __future__ import annotations

from depyf.views.report.page_assets import ASSETS, script

MODULES = {item.name: item.read_text("utf-8") for item in sorted((ASSETS / "js").iterdir())}


def test_every_module_says_what_it_is_for() -> None:
    assert [name for name, text in MODULES.items() if not text.startswith(("// ", "/**"))] == []


def test_the_bundle_names_its_libraries() -> None:
    assert script().startswith("/*! The page of depyf. With parts of @dagrejs/dagre (MIT")
    known = (ASSETS / "LICENSES.txt").read_text("utf-8")
    assert "Chris Pettitt" in known and "Kevin Decker" in known
