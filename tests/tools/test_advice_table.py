"""``docs/reference/advice.md`` says what the registry says."""

from __future__ import annotations

from tools import ROOT
from tools.docs.advice_table import page


def test_the_page_is_that_of_the_registry() -> None:
    written = (ROOT / "docs" / "reference" / "advice.md").read_text(encoding="utf-8")
    assert written == page(), "write it anew: python -m tools.docs.advice_table > docs/reference/advice.md"
