"""The table of torch versions on the site is the one that ``make torch-matrix`` writes, with a date for each row."""

from __future__ import annotations

import datetime
import json
from pathlib import Path

from tools.torch import torch_table


def test_the_page_has_the_rows_that_are_kept() -> None:
    page = torch_table.PAGE.read_text(encoding="utf-8")
    assert torch_table.with_table(page, torch_table.read_rows()) == page, (
        "python -c 'from tools.torch import torch_table; torch_table.write({})'"
    )


def test_a_new_run_takes_the_place_of_the_old_row(tmp_path: Path) -> None:
    rows, page = tmp_path / "rows.json", tmp_path / "page.md"
    old = {"python": "3.9", "passed": 1, "skipped": 0, "failed": 0, "note": "", "date": "2026-01-01"}
    rows.write_text(json.dumps({"2.10.0": old, "2.6.0": old}))
    page.write_text("above\n<!-- torch-matrix: begin -->\nold\n<!-- torch-matrix: end -->\nbelow\n")
    whole = {"passed": 7, "failed": ["a::b", "c|d", "e", "f"], "skipped": {"x": "why"}}
    torch_table.write(dict([torch_table.measured("2.10.0+cpu 3.13.1", whole, datetime.date(2026, 11, 25))]), rows, page)
    lines = page.read_text().splitlines()
    assert lines[0] == "above" and lines[-1] == "below" and "old" not in lines
    assert [line for line in lines if line.startswith("| 2")] == [
        "| 2.6.0 | 3.9 | 2026-01-01 | 1 | 0 | 0 |  |",
        "| 2.10.0 | 3.13 | 2026-11-25 | 7 | 1 | 4 | a::b; c\\|d; e and 1 more |",
    ]
