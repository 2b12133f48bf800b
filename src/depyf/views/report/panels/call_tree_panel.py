"""Which call led to which compilation."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from depyf.run.made import led_to
from depyf.run.places.place import Place
from depyf.views.pages.call_tree import call_path
from depyf.views.report.dump_view import DumpView
from depyf.views.report.told_entries import ToldEntry, ToldFunction, told_functions, written

_Id = tuple[int, str]


@dataclass
class _Node:
    """A function at one place of the tree."""

    function: ToldFunction
    above: int
    """The number of the node that it stands under; -1 for none."""
    calls: dict[str, Place] = field(default_factory=dict)
    entries: list[ToldEntry] = field(default_factory=list)


def call_tree_panel(view: DumpView, other: DumpView | None) -> dict[str, Any] | None:
    """The call tree, with each resume function below its function; None where nothing was compiled."""
    functions = told_functions(view)
    if not functions:
        return None
    known = {function.id: function for function in functions}
    records = {function.id: function.record for function in functions}
    nodes: list[_Node] = []
    numbers: dict[tuple[int, _Id], int] = {}
    steps = [(function, entry) for function in functions for entry in function.entries]
    for function, entry in sorted(steps, key=lambda pair: pair[1].key.order):
        above = -1
        for step, call in call_path(function.record, entry.record.callers, records):
            if (above, step.function) not in numbers:
                numbers[above, step.function] = len(nodes)
                nodes.append(_Node(known[step.function], above))
            above = numbers[above, step.function]
            if call is not None and known[step.function].after is None:
                nodes[above].calls.setdefault(written(call), call)
        nodes[above].entries.append(entry)
    return {
        "nodes": [
            {
                **node.function.to_json(),
                "above": node.above,
                "by": led_to(entry.record.made for entry in node.entries),
                "calls": [{"at": at, "line": view.line(place)} for at, place in node.calls.items()],
                "entries": [entry.to_json() for entry in node.entries],
            }
            for node in nodes
        ]
    }
