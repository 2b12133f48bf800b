"""What makes the kernels of a run move much memory: missed fusions, fallbacks and copies, at their lines.

Input: a run.  Output: an observation for each that costs a share of what all kernels move; none where that is little.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from depyf.run.bill.cost_reasons import is_of_library
from depyf.run.bill.lowering import CostKind
from depyf.run.bill.traffic import TrafficCost, traffic_of
from depyf.run.memory.tensor_bytes import shown_bytes
from depyf.run.observations.observation import Observation, ObservationKind
from depyf.run.run import Run

LEAST = 1 << 20
"""Bytes of a call that are worth a word: a tenth of a millisecond on an ordinary processor."""
_SHARE = 0.05
_MOST = 3
_KINDS = {
    CostKind.NOT_FUSED: ObservationKind.NOT_FUSED,
    CostKind.FALLBACK: ObservationKind.FALLBACK,
    CostKind.COPY: ObservationKind.COPY,
}


def memory_traffic(run: Run) -> Iterator[Observation]:
    """Observations on the decisions of Inductor that cost most memory traffic, the most bytes first."""
    traffic = traffic_of(run)
    least = max(LEAST, _SHARE * traffic.bytes)
    alike: dict[tuple[object, ...], list[TrafficCost]] = {}
    for cost in traffic.of(*_KINDS):
        alike.setdefault((cost.kind, cost.line, _sentence(replace(cost, times=1))), []).append(cost)
    costly = [cost for cost in map(_together, alike.values()) if cost.bytes >= least]
    costly.sort(key=lambda cost: -cost.bytes)
    for cost in costly[:_MOST]:
        share = f"{shown_bytes(cost.bytes)} of the {shown_bytes(traffic.bytes)} that the kernels move in a call"
        yield Observation(
            _KINDS[cost.kind],
            cost.line,
            _sentence(cost),
            entries=cost.keys,
            cost=f"{share} ({100 * cost.bytes / traffic.bytes:.0f} %)",
            details=tuple(_details(cost)),
            of_calls=True,
        )


def _together(alike: list[TrafficCost]) -> TrafficCost:
    """Costs of one line that are told with one sentence: a line may call many operators."""
    return replace(
        alike[0],
        bytes=sum(cost.bytes for cost in alike),
        times=sum(cost.times for cost in alike),
        operators=tuple(dict.fromkeys(operator for cost in alike for operator in cost.operators)),
        keys=tuple(dict.fromkeys(key for cost in alike for key in cost.keys)),
    )


def _sentence(cost: TrafficCost) -> str:
    times = f", {cost.times} times" if cost.times > 1 else ""
    if cost.kind is CostKind.NOT_FUSED:
        return f"{_pair(cost)} are not fused{times}: {cost.words}"
    what = _operator(cost.operators)
    if cost.kind is CostKind.FALLBACK:
        return f"{what} is not compiled{times}: {cost.words}"
    return f"{what} copies{times}: {cost.words}"


def _pair(cost: TrafficCost) -> str:
    """The two that Inductor left apart.  It schedules loops: on a GPU each is a kernel, in C++ one may hold several."""
    noun = "kernel" if is_of_library(cost.reason) else "loop"
    if _of_one_line(cost):
        return f"two of its {noun}s"
    first = f"its {noun}" if cost.line is not None else f"the {noun} of {_operator(cost.operators)}"
    return f"{first} and the one of {_where(cost)}"


def _of_one_line(cost: TrafficCost) -> bool:
    line, other = cost.line, cost.other
    return line is not None and other is not None and (line.filename, line.line) == (other.filename, other.line)


def _operator(operators: tuple[str, ...]) -> str:
    return f"`{operators[0]}`" if operators else "an operator"


def _where(cost: TrafficCost) -> str:
    if cost.other is None:
        return f"{_operator(cost.other_operators)} (no line of the program)"
    if cost.line is not None and cost.other.filename == cost.line.filename:
        return f"line {cost.other.line}"
    return f"{cost.other.filename}:{cost.other.line}"


def _details(cost: TrafficCost) -> Iterator[str]:
    if cost.kind is CostKind.NOT_FUSED and cost.other is not None and cost.other.text and not _of_one_line(cost):
        yield f"line {cost.other.line}: `{cost.other.text}`"
