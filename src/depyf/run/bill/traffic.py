"""What the kernels of a run move through memory, and the lines that make it more: of all graphs together.

Input: a run.  Output: ``Traffic``.  For a function with several compilations, the one that moves most counts: the bytes
are those of one call, forward and backward.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from depyf.run.bill.cost_reasons import COPIES, FALLBACKS, fusion_words
from depyf.run.bill.lowering import CostKind, LoweredGraph, LoweringCost
from depyf.run.compile_stages import WRAPPER
from depyf.run.places.place import Place
from depyf.run.records import CompileKey, GraphRecord
from depyf.run.run import Run


@dataclass(frozen=True, slots=True)
class TrafficCost:
    """The costs of one kind that the same lines make for the same reason."""

    kind: CostKind
    bytes: int
    reason: str
    words: str
    """The reason in plain words."""
    line: Place | None
    other: Place | None
    """The line of the second kernel, or of the first one that reads the buffer."""
    operators: tuple[str, ...]
    other_operators: tuple[str, ...]
    times: int
    """How many such there are in the graphs."""
    keys: tuple[CompileKey, ...]


@dataclass(frozen=True, slots=True)
class Traffic:
    """The memory traffic (bytes) of all graphs whose kernels were compiled in the recorded process."""

    bytes: int
    kernels: int
    """Those of Inductor: loops, several of which may lie in one C++ kernel (``LoweredGraph``)."""
    library: int
    considered: int
    costs: tuple[TrafficCost, ...]
    """The largest first."""
    graphs: int
    cached: int
    """Wrappers of which nothing is known: they came from a cache, or from another process."""

    def of(self, *kinds: CostKind) -> tuple[TrafficCost, ...]:
        """The costs of the given ``kinds``, the largest first."""
        return tuple(cost for cost in self.costs if cost.kind in kinds)

    def reasons(self) -> dict[str, tuple[int, int]]:
        """Why kernels were not fused, in words -> how many pairs, and bytes; the most bytes first."""
        found: dict[str, tuple[int, int]] = {}
        for cost in self.of(CostKind.NOT_FUSED):
            times, size = found.get(cost.words, (0, 0))
            found[cost.words] = times + cost.times, size + cost.bytes
        return dict(sorted(found.items(), key=lambda item: -item[1][1]))


def counted_graphs(run: Run) -> list[tuple[GraphRecord, LoweredGraph]]:
    """The graphs that the traffic of a run is of: of several entries of one function, the one that moves most bytes."""
    largest: dict[tuple[tuple[int, str], int], tuple[GraphRecord, LoweredGraph]] = {}
    for graph in run.graphs:
        if graph.stage != WRAPPER or graph.lowering is None:
            continue
        place = graph.key.function, graph.index
        if place not in largest or graph.lowering.bytes > largest[place][1].bytes:
            largest[place] = graph, graph.lowering
    return list(largest.values())


def traffic_of(run: Run) -> Traffic:
    """The memory traffic of a run, of ``counted_graphs``."""
    wrappers = [graph for graph in run.graphs if graph.stage == WRAPPER]
    known = counted_graphs(run)
    return Traffic(
        bytes=sum(lowering.bytes for _, lowering in known),
        kernels=sum(lowering.kernels for _, lowering in known),
        library=sum(lowering.library for _, lowering in known),
        considered=sum(lowering.considered for _, lowering in known),
        costs=_together(known),
        graphs=len(known),
        cached=sum(graph.lowering is None for graph in wrappers),
    )


def cost_words(cost: LoweringCost) -> str:
    """The reason of a cost in plain words."""
    if cost.kind is CostKind.NOT_FUSED:
        return fusion_words(cost.reason, cost.detail)
    return {CostKind.FALLBACK: FALLBACKS, CostKind.COPY: COPIES}.get(cost.kind, {}).get(cost.reason, cost.reason)


def _together(known: Sequence[tuple[GraphRecord, LoweredGraph]]) -> tuple[TrafficCost, ...]:
    alike: dict[tuple[object, ...], list[tuple[CompileKey, LoweringCost]]] = {}
    for graph, lowering in known:
        for cost in lowering.costs:
            same = (cost.kind, cost.reason, _first(cost.lines), _first(cost.other_lines), cost.operators[:1])
            alike.setdefault(same, []).append((graph.key, cost))
    costs = [_one(found) for found in alike.values()]
    return tuple(sorted(costs, key=lambda cost: -cost.bytes))


def _one(found: Sequence[tuple[CompileKey, LoweringCost]]) -> TrafficCost:
    cost = max((cost for _, cost in found), key=lambda cost: cost.bytes)
    return TrafficCost(
        kind=cost.kind,
        bytes=sum(one.bytes for _, one in found),
        reason=cost.reason,
        words=cost_words(cost),
        line=_first(cost.lines),
        other=_first(cost.other_lines),
        operators=cost.operators,
        other_operators=cost.other_operators,
        times=len(found),
        keys=tuple(dict.fromkeys(key for key, _ in found)),
    )


def _first(lines: Sequence[Place]) -> Place | None:
    return lines[0] if lines else None
