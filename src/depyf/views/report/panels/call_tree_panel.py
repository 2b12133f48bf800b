"""Which call led to which compilation."""

from __future__ import annotations

from typing import Any

from depyf.views.report.dump_view import DumpView
from depyf.views.report.told_entries import ToldFunction, told_functions, told_lines

_Id = tuple[int, str]


def call_tree_panel(view: DumpView, other: DumpView | None) -> dict[str, Any] | None:
    """Functions under those that called them, the rest of a function below it; None where nothing was compiled."""
    functions = told_functions(view)
    if not functions:
        return None
    known = {function.id: function for function in functions}
    lines = told_lines(view)
    nodes: list[dict[str, Any]] = []
    numbers: dict[tuple[int, _Id], int] = {}
    steps = [(function, entry) for function in functions for entry in function.entries]
    for function, entry in sorted(steps, key=lambda pair: pair[1].key.order):
        above = -1
        for step, call in _path(function, entry.item.get("called_by", ()), known):
            if (above, step.id) not in numbers:
                numbers[above, step.id] = len(nodes)
                nodes.append({**step.to_json(), "above": above, "calls": [], "entries": []})
            above = numbers[above, step.id]
            if call and step.after is None and call not in nodes[above]["calls"]:
                nodes[above]["calls"].append(call)
        nodes[above]["entries"].append(entry.to_json())
    for node in nodes:
        node["calls"] = [{"at": at, "line": lines.get(at, "")} for at in node["calls"]]
    return {"nodes": nodes}


def _path(function: ToldFunction, callers: Any, known: dict[_Id, ToldFunction]) -> list[tuple[ToldFunction, str]]:
    """The functions from the outermost to ``function``, each with the line that called it; one that calls itself once."""
    path: list[tuple[ToldFunction, str]] = []
    call = ""
    generation = function.id[0]
    for caller in (*callers, {"at": "", "frame": function.id[1]}):
        step = known.get((generation, caller["frame"])) if caller.get("frame") else None
        if step is not None:
            for number, (above, called) in enumerate(path):
                if above.id == step.id:
                    call = called
                    del path[number:]
                    break
                if above.id[1] == step.item.get("resume_of"):
                    del path[number + 1 :]
                    break
            path.append((step, call))
        call = str(caller.get("at", ""))
    return path
