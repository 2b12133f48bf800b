"""What a graph costs in memory traffic, read from Inductor while it reports the wrapper.

Input: torch's ``GraphLowering``, the refused fusions of it, and the lines of its operations.  Output: a
``LoweredGraph``.  Where the wrapper came from a cache there is no such graph, and nothing is known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from depyf.run.bill.cost_reasons import (
    CHOSEN,
    CUSTOM,
    MADE_BY_LIBRARY,
    NO_LOWERING,
    READ_BY_LIBRARY,
    READ_LATER,
)
from depyf.run.bill.lowering import CostKind, LoweredGraph, LoweringCost
from depyf.run.places.place import Place
from depyf.sources.live.inductor.copied import copy_reason
from depyf.sources.live.inductor.fusion_listener import FusionRefusal
from depyf.sources.live.inductor.scheduled_kernels import ScheduledKernel, graph_nodes, is_output, kernels_in, leaves

_MOST = 60
"""Costs of one kind and graph that are kept."""
_LINES = 6
_OPERATORS = 8
_BUILTIN = frozenset(
    {"aten", "prims", "prim", "inductor", "inductor_prims", "_c10d_functional", "quantized", "rngprims"}
)

LinesOf = Callable[[Any], Iterable[Place]]
"""A node of the graph -> the lines of the program that asked for it."""


def lowering_of(graph: Any, refused: Sequence[FusionRefusal], lines_of: LinesOf) -> LoweredGraph:
    """The kernels and costs of ``graph``, whose code is generated and which is torch's current graph."""
    kernels = kernels_in(graph)
    reader = _Costs(graph.scheduler, kernels, lines_of)
    found = [
        *reader.not_fused(refused),
        *(cost for kernel in kernels for part in kernel.parts for cost in reader.of_part(kernel, part)),
        *(cost for kernel in kernels for cost in reader.realised(kernel)),
        *reader.partitions(graph),
    ]
    kept: list[LoweringCost] = []
    for kind in CostKind:
        same = sorted((cost for cost in found if cost.kind is kind), key=lambda cost: -cost.bytes)
        kept += same[:_MOST]
    return LoweredGraph(
        kernels=sum(not kernel.library for kernel in kernels),
        library=sum(kernel.library for kernel in kernels),
        bytes=sum(kernel.bytes for kernel in kernels),
        considered=sum(cost.kind is CostKind.NOT_FUSED for cost in found),
        costs=tuple(kept),
        left_out=len(found) - len(kept),
    )


class _Costs:
    """The costs of one graph."""

    def __init__(self, scheduler: Any, kernels: list[ScheduledKernel], lines_of: LinesOf) -> None:
        self._scheduler = scheduler
        self._kernels = kernels
        self._lines_of = lines_of
        self._readers: dict[str, list[ScheduledKernel]] = {}
        for kernel in kernels:
            for name in kernel.reads:
                self._readers.setdefault(name, []).append(kernel)

    def not_fused(self, refused: Iterable[FusionRefusal]) -> list[LoweringCost]:
        """A cost for each pair of kernels that share memory and were refused; the reason is that of the largest parts;
        among these, of the part that runs first."""
        holds = {name: number for number, kernel in enumerate(self._kernels) for name in kernel.names}
        reasons: dict[tuple[int, int], tuple[tuple[int, bool, int], FusionRefusal]] = {}
        for at, refusal in enumerate(refused):
            places = [{holds.get(name, -1) for name in names} for names in (refusal.first, refusal.second)]
            if any(len(place) != 1 or -1 in place for place in places):
                continue
            (one,), (other,) = places
            if one == other:
                continue
            rank = (len(refusal.first) + len(refusal.second), one < other, at)
            pair = (min(one, other), max(one, other))
            if pair not in reasons or rank > reasons[pair][0]:
                reasons[pair] = rank, refusal
        costs = []
        for (one, other), (_, refusal) in reasons.items():
            first, second = self._kernels[one], self._kernels[other]
            shared = self._shared(first, second)
            if shared:
                uses = {
                    id(kernel): [part for part in kernel.parts if shared.keys() & _used(part)]
                    for kernel in (first, second)
                }
                costs.append(
                    self._cost(
                        CostKind.NOT_FUSED, sum(shared.values()), refusal.reason, uses[id(first)], uses[id(second)],
                        refusal.values,
                    )
                )  # fmt: skip
        return costs

    def _shared(self, first: ScheduledKernel, second: ScheduledKernel) -> dict[str, int]:
        """Buffer -> the bytes that one kernel in the place of the two would not move."""
        saved: dict[str, int] = {}
        for name, size in second.reads.items():
            if name in first.writes:
                saved[name] = size
                if not leaves(self._scheduler, name, [*first.parts, *second.parts]):
                    saved[name] += first.writes[name]
            elif name in first.reads:
                saved[name] = min(size, first.reads[name])
        return {name: size for name, size in saved.items() if size}

    def of_part(self, kernel: ScheduledKernel, part: Any) -> list[LoweringCost]:
        """A fallback, or a copy."""
        from torch._inductor import ir

        if isinstance(part.node, ir.FallbackKernel):
            reason = _why_fallback(part.node.op_overload)
            moved = 0 if part.node.get_inputs_that_alias_output() else kernel.bytes
            return [self._cost(CostKind.FALLBACK, moved, reason, [part])] if moved and reason else []
        reason = copy_reason(part)
        if not reason:
            return []
        own = {name for name in part.get_buffer_names() if name in kernel.writes}
        moved = sum(kernel.writes[name] for name in own)
        others = {name for other in kernel.parts if other is not part for name in _used(other)}
        moved += sum(size for name, size in kernel.reads.items() if name in _used(part) and name not in others)
        made_here = {name for other in kernel.parts if other is not part for name in other.get_buffer_names()}
        taken = made_here & _used(part)
        straight = bool(taken) and not taken & kernel.writes.keys()  # it is written where it belongs, and nowhere else
        return [self._cost(CostKind.COPY, moved, reason, [part])] if own and moved and not straight else []

    def realised(self, kernel: ScheduledKernel) -> list[LoweringCost]:
        """What other kernels read of what ``kernel`` writes."""
        costs = []
        for name, size in kernel.writes.items():
            readers = [reader for reader in self._readers.get(name, ()) if reader is not kernel]
            if not readers:
                continue
            reason = (
                MADE_BY_LIBRARY
                if kernel.library
                else READ_BY_LIBRARY
                if any(reader.library for reader in readers)
                else READ_LATER
            )
            moved = sum(reader.reads[name] for reader in readers)
            moved += 0 if is_output(self._scheduler, name) else size
            parts = [part for part in kernel.parts if name in part.get_buffer_names()]
            using = [part for reader in readers for part in reader.parts if name in _used(part)]
            costs.append(self._cost(CostKind.REALISED, moved, reason, parts, using))
        return costs

    def partitions(self, graph: Any) -> list[LoweringCost]:
        """What torch leaves out of CUDA graphs, where it parts the graph."""
        if not getattr(graph, "partition_maps", None):
            return []
        costs = []
        for kernel in self._kernels:
            whole = self._scheduler.get_fused_node(kernel.parts[0])
            reason = self._scheduler.should_partition(whole)
            if reason:
                costs.append(self._cost(CostKind.PARTITION, kernel.bytes, str(reason), kernel.parts))
        return costs

    def _cost(
        self,
        kind: CostKind,
        size: int,
        reason: str,
        parts: list[Any],
        others: Sequence[Any] = (),
        detail: tuple[str, ...] = (),
    ) -> LoweringCost:
        first, second = graph_nodes(parts)[::-1], graph_nodes(others)  # what is nearest to the memory comes first
        return LoweringCost(
            kind=kind,
            bytes=size,
            reason=reason,
            detail=detail,
            operators=_operators(first),
            lines=self._lines(first),
            other_operators=_operators(second),
            other_lines=self._lines(second),
        )

    def _lines(self, nodes: Iterable[Any]) -> tuple[Place, ...]:
        return tuple(dict.fromkeys(line for node in nodes for line in self._lines_of(node)))[:_LINES]


def _used(part: Any) -> set[str]:
    """The buffers that a part reads or writes."""
    return {str(dep.name) for dep in part.read_writes.reads_and_writes()}


def _operators(nodes: Iterable[Any]) -> tuple[str, ...]:
    names = dict.fromkeys(str(getattr(node.target, "overloadpacket", node.target)) for node in nodes)
    return tuple(names)[:_OPERATORS]


def _why_fallback(operator: Any) -> str:
    """Why eager's kernel is called for an operator; "" for one that has no other (a collective, a random state)."""
    from torch._inductor.lowering import lowerings

    space = str(getattr(operator, "namespace", ""))
    if not space or space == "_c10d_functional":
        return ""
    if space not in _BUILTIN:
        return CUSTOM
    lowering = lowerings.get(operator)
    own = lowering is not None and getattr(lowering, "_is_fallback_handler", False) is not True
    return CHOSEN if own else NO_LOWERING
