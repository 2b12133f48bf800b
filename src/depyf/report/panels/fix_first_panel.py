"""What to fix first: the causes of a run, the most expensive first."""

from __future__ import annotations

from typing import Any

from depyf.report.dump_view import DumpView


def fix_first_panel(view: DumpView, other: DumpView | None) -> dict[str, Any] | None:
    """Causes as the manifest holds them."""
    return {"causes": view.page.get("causes", [])}
