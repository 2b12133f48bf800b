"""``docs/reference/advice.md`` says what the registry says."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))

from advice_table import page

ROOT = Path(__file__).resolve().parents[2]


def test_the_page_is_that_of_the_registry() -> None:
    written = (ROOT / "docs" / "reference" / "advice.md").read_text(encoding="utf-8")
    assert written == page(), "write it anew: python tools/advice_table.py > docs/reference/advice.md"
