"""All rows: the paper's 138 names and what came since."""

from __future__ import annotations

from models import paper, recent

ROWS = (*paper.ROWS, *recent.ROWS)
BY_NAME = {row.name: row for row in ROWS}
