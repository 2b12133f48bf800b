"""The panels of a report, in the order in which the page shows them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from depyf.views.report.dump_view import DumpView
from depyf.views.report.panels.bill_panel import bill_panel
from depyf.views.report.panels.call_tree_panel import call_tree_panel
from depyf.views.report.panels.chain_panel import chain_panel
from depyf.views.report.panels.fix_first_panel import fix_first_panel
from depyf.views.report.panels.graphs_panel import graphs_panel
from depyf.views.report.panels.guards_panel import guards_panel
from depyf.views.report.panels.memory_panel import memory_panel
from depyf.views.report.panels.passes_panel import passes_panel
from depyf.views.report.panels.ranks_panel import ranks_panel
from depyf.views.report.panels.recompilations_panel import recompilations_panel
from depyf.views.report.panels.run_diff_panel import run_diff_panel
from depyf.views.report.panels.shapes_panel import shapes_panel
from depyf.views.report.panels.source_panel import source_panel
from depyf.views.report.panels.timeline_panel import timeline_panel

Builder = Callable[[DumpView, DumpView | None], "dict[str, Any] | None"]
"""A dump, and a second one to compare it with, to plain data (dictionaries, lists, texts, numbers); None: not shown."""


@dataclass(frozen=True, slots=True)
class Panel:
    """One view of a page: ``id`` is its address and the name of its function in ``assets/js/main.js``."""

    id: str
    title: str
    build: Builder
    of_ranks: bool = False
    """It is given the folder that holds the dumps of the ranks; others are given the lowest rank then."""


PANELS = (
    Panel("fix-first", "Fix first", fix_first_panel),
    Panel("source", "My source", source_panel),
    Panel("chain", "Chain", chain_panel, of_ranks=True),
    Panel("passes", "Passes", passes_panel, of_ranks=True),
    Panel("run-diff", "What changed", run_diff_panel, of_ranks=True),
    Panel("ranks", "Ranks", ranks_panel, of_ranks=True),
    Panel("recompilations", "Recompilations", recompilations_panel),
    Panel("guards", "Guards", guards_panel),
    Panel("call-tree", "Call tree", call_tree_panel),
    Panel("timeline", "Time", timeline_panel),
    Panel("shapes", "Shapes", shapes_panel),
    Panel("memory", "Memory", memory_panel),
    Panel("bill", "Bill", bill_panel),
    Panel("graphs", "Graphs", graphs_panel),
)
