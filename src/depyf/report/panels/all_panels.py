"""The panels of a report, in the order in which the page shows them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from depyf.report.dump_view import DumpView
from depyf.report.panels.fix_first_panel import fix_first_panel

Builder = Callable[[DumpView, DumpView | None], "dict[str, Any] | None"]
"""A dump, and a second one to compare it with, to plain data (dictionaries, lists, texts, numbers); None: not shown."""


@dataclass(frozen=True, slots=True)
class Panel:
    """One view of a page: ``id`` is its address and the name of its function in ``assets/js/main.js``."""

    id: str
    title: str
    build: Builder


PANELS = (Panel("fix-first", "Fix first", fix_first_panel),)
