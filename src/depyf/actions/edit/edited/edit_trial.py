"""Edited code against the original, on the inputs that the program gave: results, gradients, time, memory, the first
node.

Input: a compiled graph that edited files may be part of, and the graph that torch captured, before any edit.  At the
first call both run on copies of the inputs.  Output: ``EditedGraph``, plain data; the program goes on with the edited
results.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from depyf.actions.comparing.graphs.compiled_graph import (
    Compiled,
    copied,
    is_tensor,
    node_values,
    steady_random_numbers,
)
from depyf.safety.guarded import problem
from depyf.sources.live.origins.probes import clean_copy
from depyf.sources.live.pure_tensors import number, tensor
from depyf.sources.live.tensors import TensorDifference, difference

_SHORTEST = 0.5
"""Seconds of measuring, where calls are that short."""
_FEWEST_CALLS, _MOST_CALLS = 5, 200


@dataclass(frozen=True, slots=True)
class Cost:
    """The seconds of one call, with its backward if it has one, and the peak memory in bytes beyond the inputs (-1:
    unknown)."""

    seconds: float
    peak: int


@dataclass(frozen=True, slots=True)
class EditedGraph:
    """The comparison of one compiled graph with its edited version."""

    function: str
    compile_id: str
    results: TensorDifference | None
    """None where they are the same."""
    gradients: TensorDifference | None
    has_gradients: bool
    before: Cost
    after: Cost
    error: str = ""
    """Why it could not be compared."""
    part: str = ""
    """What was run, where it is no graph."""

    @property
    def same(self) -> bool:
        return self.results is None and self.gradients is None and not self.error


def tried(
    function: str, compile_id: str, backend: Any, original: Any, made: Callable[..., Any], inputs: tuple[Any, ...]
) -> EditedGraph:
    """Run ``original``, a graph, on ``backend``, and ``made``, the edited one as it was compiled, on copies of
    ``inputs``."""
    nothing = Cost(0.0, 0)
    try:
        first, second = Compiled(backend, original), Compiled(backend, original, made)
        results = apart(first.outputs(inputs), second.outputs(inputs))
        one, other = first.gradients(inputs), second.gradients(inputs)
        before, after = _costs((first, second), inputs)
        return EditedGraph(function, compile_id, results, apart(one, other), bool(one or other), before, after)
    except Exception as error:  # an edit may fail on other inputs than the program's own
        return EditedGraph(function, compile_id, None, None, False, nothing, nothing, problem(error))


def apart(expected: list[Any], got: list[Any]) -> TensorDifference | None:
    """The first difference between two lists of values; None where all are the same."""
    if len(expected) != len(got):
        return TensorDifference(
            f"{len(expected)} values", f"{len(got)} values", 0, (), (0.0, 0.0), "not as many values"
        )
    pairs = [difference(one, other, None, None) for one, other in zip(expected, got)]
    return next((found for found in pairs if found is not None), None)


def _costs(sides: tuple[Compiled, ...], inputs: tuple[Any, ...]) -> list[Cost]:
    """The fastest call of each side.  The sides take turns, so that other load on the machine affects all alike."""
    own = copied(inputs)
    best = [float("inf")] * len(sides)
    with steady_random_numbers():
        peaks = [peak_of(lambda side=side: _once(side, own)) for side in sides]  # type: ignore[misc]
        spent, count = 0.0, 0
        while count < _FEWEST_CALLS or (spent < _SHORTEST and count < _MOST_CALLS):
            count += 1
            for number, side in enumerate(sides):
                wait()
                begun = time.perf_counter()
                _once(side, own)
                wait()
                took = time.perf_counter() - begun
                best[number], spent = min(best[number], took), spent + took
    return [Cost(*found) for found in zip(best, peaks)]


def _once(side: Compiled, own: tuple[Any, ...]) -> None:
    """A call with its backward."""
    import torch

    found = side.made(*own)
    results = [v for v in (found if isinstance(found, (tuple, list)) else [found]) if isinstance(v, torch.Tensor)]
    results = [value for value in results if value.requires_grad]
    wanted = [value for value in own if isinstance(value, torch.Tensor) and value.requires_grad]
    if results and wanted:
        torch.autograd.grad(results, wanted, [torch.ones_like(value) for value in results], allow_unused=True)


def wait() -> None:
    """Wait until all devices have finished."""
    import torch

    if torch.cuda.is_available():
        torch.cuda.synchronize()


def peak_of(call: Callable[[], None]) -> int:
    """The most bytes that were allocated at once during the call, beyond those before it.

    By what torch's allocators tell its old profiler, which prints nothing and changes no statistics of the program; -1
    where this torch has none.
    """
    try:
        from torch._C import _autograd as autograd
        from torch._C._profiler import ProfilerConfig, ProfilerState, _ExperimentalConfig

        config = ProfilerConfig(ProfilerState.CPU, False, True, False, False, False, _ExperimentalConfig())
        autograd._enable_profiler_legacy(config)
    except (ImportError, AttributeError, TypeError, RuntimeError):
        return -1
    try:
        call()
    finally:
        threads: Any = autograd._disable_profiler_legacy()
    now, most = 0, 0
    for event in (event for events in threads for event in events if event.kind() == "memory_alloc"):
        now += sum(int(getattr(event, name)()) for name in _ALLOCATED if hasattr(event, name))
        most = max(most, now)
    return most


_ALLOCATED = ("cpu_memory_usage", "cuda_memory_usage", "device_memory_usage")


@dataclass(frozen=True, slots=True)
class EditedNodes:
    """An edited graph with what torch made there, to be compared node by node."""

    before: Any
    after: Any
    lines: dict[str, int]
    """Of the nodes of the edited one, in the file."""
    values: tuple[Any, ...]
    """What torch knew of each input."""

    def first(self, inputs: tuple[Any, ...]) -> tuple[str, int, TensorDifference] | None:
        """Name and line of the first node of the edited graph whose value is not that of the node of its name before.

        A joint graph takes the gradients of the results, too, which no call of it has: they are ones.  None where torch
        does not know how large these are.
        """
        import torch

        for known in self.values[len(inputs) :]:
            sizes = [number(item) for item in tensor(known).size or ()]
            if None in sizes:
                return None
            inputs = (*inputs, torch.ones(sizes, dtype=known.dtype, device=known.device))
        expected, got = node_values(self.before, inputs), node_values(self.after, inputs)
        for name, value in got.items():
            if (
                is_tensor(value)
                and is_tensor(expected.get(name))
                and (found := difference(expected[name], value, None, None)) is not None
            ):
                return name, self.lines.get(name, 1), found
        return None


def plain_copy(module: Any) -> Any:
    """A copy of a graph that takes its inputs as a flat list of arguments."""
    from torch.fx.graph import CodeGen

    graph = module.graph
    own, graph._codegen = graph._codegen, CodeGen()
    try:
        return clean_copy(module)
    finally:
        graph._codegen = own


def input_values(module: Any) -> tuple[Any, ...]:
    """The example values (``meta``) of the inputs of a graph."""
    return tuple(node.meta.get("val") for node in module.graph.nodes if node.op == "placeholder")
