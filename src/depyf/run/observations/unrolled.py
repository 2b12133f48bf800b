"""One graph that is long because a loop of the program was unrolled into it.

Input: the captured graphs of a run.  Output: an observation for each loop that makes most of its graph.
"""

from __future__ import annotations

from collections.abc import Iterator

from depyf.run.causes.folding import counted
from depyf.run.graphs.unrolled_loops import UnrolledLoop
from depyf.run.observations.observation import Observation, ObservationKind
from depyf.run.records import GraphRecord, Place
from depyf.run.run import Run


def unrolled(run: Run) -> Iterator[Observation]:
    """The loops of all graphs, each once."""
    found: dict[tuple[str, int], list[tuple[GraphRecord, UnrolledLoop]]] = {}
    for graph in run.graphs:
        for loop in graph.loops:
            found.setdefault((loop.file, loop.line), []).append((graph, loop))
    for same in found.values():
        yield _observation(same)


def _observation(same: list[tuple[GraphRecord, UnrolledLoop]]) -> Observation:
    loop = max((loop for _, loop in same), key=lambda loop: loop.operations)
    what = "the loop is unrolled" if loop.loop else "what this line runs is unrolled"
    graphs = {graph.key: None for graph, _ in same}
    into = "one graph" if len(graphs) == 1 else f"each of {len(graphs)} graphs"
    return Observation(
        ObservationKind.UNROLLED,
        Place(loop.file, loop.line, loop.function, loop.text),
        f"{what} {loop.times} times into {into}",
        _ways(loop),
        tuple(graphs),
        f"{counted(loop.operations, 'operation')} of the graph",
    )


def _ways(loop: UnrolledLoop) -> tuple[str, ...]:
    if loop.calls:
        return (
            f"compile what is repeated, `{loop.calls}`, and not what holds the loop: one small graph serves all "
            f"{loop.times} times",
        )
    if not loop.loop:
        return ("compile what is repeated, and not what repeats it: one small graph serves every time",)
    return ("move the body of the loop to a function, and compile that: one small graph serves every time",)
