"""What ``depyf.compare(fn, *args, edited=DIR)`` and ``depyf run --edited DIR --compare`` found, as a table."""

from __future__ import annotations

from dataclasses import dataclass

from depyf.actions.edit.edited.edit_trial import EditedGraph
from depyf.safety.escape import printable_lines


@dataclass(frozen=True, slots=True)
class EditedComparison:
    """The graphs of functions with edited files, and what was edited; true where no result and no gradient changed."""

    graphs: tuple[EditedGraph, ...]
    used: tuple[str, ...]
    """What was used, a line a file."""
    first: tuple[str, ...]
    """The first node that differs in each edited graph file, a line each."""

    def __bool__(self) -> bool:
        return bool(self.graphs) and all(graph.same for graph in self.graphs)

    def __str__(self) -> str:
        if not self.graphs:
            return "\n".join([*self.used, "no code of an edited function ran, so nothing was compared"])
        rows = [("graph", "results", "gradients", "time", "peak memory"), *map(_row, self.graphs)]
        widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
        table = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]
        notes = [f"{_name(g)}: {said}" for g in self.graphs for said in _remarks(g)]
        return printable_lines(
            "\n".join([*self.used, "the original against the edited, on the same inputs:", *table, *notes, *self.first])
        )


def _name(graph: EditedGraph) -> str:
    return f"{graph.function} {graph.compile_id}{', ' if graph.part else ''}{graph.part}"


def _row(graph: EditedGraph) -> tuple[str, ...]:
    name = _name(graph)
    if graph.error:
        return (name, "NOT COMPARED", "", "", "")
    gradients = ("the same" if graph.gradients is None else "DIFFERENT") if graph.has_gradients else "none"
    seconds, peaks = (graph.before.seconds, graph.after.seconds), (graph.before.peak, graph.after.peak)
    return (
        name,
        "the same" if graph.results is None else "DIFFERENT",
        gradients,
        f"{_time(seconds[0])} -> {_time(seconds[1])}",
        f"{_bytes(peaks[0])} -> {_bytes(peaks[1])}",
    )


def _remarks(graph: EditedGraph) -> list[str]:
    found = [graph.error] if graph.error else []
    if graph.results is not None:
        found.append(f"results: {graph.results.reason}")
    if graph.gradients is not None:
        found.append(f"gradients: {graph.gradients.reason}")
    return found


def _time(seconds: float) -> str:
    return f"{seconds * 1e3:.3f} ms"


def _bytes(count: int) -> str:
    return f"{count / (1 << 20):.3f} MiB" if count >= 0 else "?"
