"""The table of ``docs/reference/torch_versions.md``: what each whole run of ``make torch-matrix`` found, and when.

Input: ``tools/torch/torch_rows.json``, a row for each torch.  ``tools/torch/torch_matrix.py`` writes a row when all files of a version have
run; a row that was not measured again keeps its date.
"""

from __future__ import annotations

import datetime
import json
import re
from pathlib import Path
from typing import Any

from tools import ROOT

ROWS = Path(__file__).with_name("torch_rows.json")
PAGE = ROOT / "docs" / "reference" / "torch_versions.md"
_BEGIN, _END = "<!-- torch-matrix: begin -->\n", "<!-- torch-matrix: end -->\n"
_HEAD = ("torch", "Python", "measured", "passed", "skipped", "failed", "of these")


def table(rows: dict[str, dict[str, Any]]) -> str:
    """The rows as Markdown, by version."""
    lines = [f"| {' | '.join(_HEAD)} |", "|---" * len(_HEAD) + "|"]
    for torch, row in sorted(rows.items(), key=lambda item: _version(item[0])):
        cells = (torch, *(str(row[name]) for name in ("python", "date", "passed", "skipped", "failed", "note")))
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def _version(torch: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", torch))


def read_rows(path: Path = ROWS) -> dict[str, dict[str, Any]]:
    """The rows that are kept."""
    rows: dict[str, dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    return rows


def with_table(page: str, rows: dict[str, dict[str, Any]]) -> str:
    """``page`` with the table between its two marks."""
    before, begin, rest = page.partition(_BEGIN)
    _, end, after = rest.partition(_END)
    if not begin or not end:
        raise ValueError("the page has no place for the table")
    return f"{before}{begin}\n{table(rows)}\n{end}{after}"


def measured(version: str, whole: dict[str, Any], today: datetime.date) -> tuple[str, dict[str, Any]]:
    """The row of one whole run: ``version`` as ``torch_matrix.version_of`` says it, ``whole`` from its ``total``."""
    torch, _, python = version.partition(" ")
    failed: list[str] = whole["failed"]
    note = "; ".join(failed[:3]) + (f" and {len(failed) - 3} more" if len(failed) > 3 else "")
    return torch.partition("+")[0], {
        "python": ".".join(python.split(".")[:2]), "passed": whole["passed"], "skipped": len(whole["skipped"]),
        "failed": len(failed), "note": note, "date": today.isoformat(),
    }  # fmt: skip


def write(new: dict[str, dict[str, Any]], rows: Path = ROWS, page: Path = PAGE) -> None:
    """Keep the ``new`` rows in place of those of the same torch, and write the table anew."""
    found = read_rows(rows) | new
    rows.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    page.write_text(with_table(page.read_text(encoding="utf-8"), found), encoding="utf-8")
