"""One graph that is long because a loop of the program was unrolled into it.

Input: the captured graphs of a run.  Output: an observation for each loop that makes most of a long graph.  A graph is
long, too, where Inductor made many kernels of few operations.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from depyf.run.causes.folding import counted
from depyf.run.graphs.unrolled_loops import LONG, UnrolledLoop
from depyf.run.observations.observation import Observation, ObservationKind
from depyf.run.places.place import Place
from depyf.run.records import CompileKey, EntryState, GraphRecord
from depyf.run.run import Run


def unrolled(run: Run) -> Iterator[Observation]:
    """One observation for each loop of the program that a long graph holds unrolled."""
    found: dict[tuple[str, int], list[tuple[GraphRecord, UnrolledLoop]]] = {}
    length = _lengths(run)
    for graph in run.graphs:
        for loop in graph.loops if length[graph.key] >= LONG else ():
            found.setdefault((loop.file, loop.line), []).append((graph, loop))
    half = sum(entry.operations or 0 for _, entry in run.of_state(EntryState.COMPILED)) / 2
    again = {entry.key for _, entry in run.entries if entry.recompiles}
    for same in found.values():
        first = sum(loop.operations for graph, loop in same if graph.key not in again)
        yield _observation(same, first >= half > 0)


def _lengths(run: Run) -> Counter[CompileKey]:
    """How many operations Dynamo captured, or how many kernels Inductor made of the largest graph of a compilation."""
    found = Counter({entry.key: entry.operations or 0 for _, entry in run.entries})
    for graph in run.graphs:
        if graph.lowering is not None:
            found[graph.key] = max(found[graph.key], graph.lowering.kernels + graph.lowering.library)
    return found


def _observation(same: list[tuple[GraphRecord, UnrolledLoop]], leads: bool) -> Observation:
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
        leads,
    )


def _ways(loop: UnrolledLoop) -> tuple[str, ...]:
    """One graph for all is compiled sooner; it is not always what runs faster."""
    less = "one small graph is compiled, and its guards are asked"
    if loop.calls:
        return (
            f"compile what is repeated, `{loop.calls}`, and not what holds the loop: {less} {loop.times} times a call",
        )
    if not loop.loop:
        return (f"compile what is repeated, and not what repeats it: {less} every time",)
    return (f"move the body of the loop to a function, and compile that: {less} {loop.times} times a call",)
