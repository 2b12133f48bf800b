"""Times one graph of a gallery: eager against compiled, forward and backward, in pairs that alternate.

Run as a file: ``timing.py SCRIPT BACKEND PAIRS``.  Input: a script of a gallery, which is executed.  Output:
one line of JSON on standard output: seconds of each round and way, and the most memory that a round allocated at once.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import sys
import time
from collections.abc import Callable
from typing import Any

import torch

_SHORTEST = 0.002
"""Seconds that a round has to take: a short call is made often enough."""
_MOST_CALLS = 200
_WARM = 3


class TimedWay:
    """The graph in one way: as it is, or compiled."""

    def __init__(self, graph: Callable[..., Any], script: Any) -> None:
        self._graph = graph
        self._script = script
        self.inputs = list(script.make_inputs().values())
        self._leaves = [v for v in self.inputs if isinstance(v, torch.Tensor) and v.requires_grad]
        self._outputs: list[torch.Tensor] = []
        self._given: list[torch.Tensor] = []

    def forward(self) -> None:
        """One call; what it returned is kept for the backward."""
        with self._script.ambient():
            returned = self._graph(*self.inputs)
        found = [v for v in _flat(returned) if isinstance(v, torch.Tensor) and v.grad_fn is not None]
        self._outputs = found if self._leaves else []

    def backward(self) -> None:
        """The gradients of the last call."""
        if len(self._given) != len(self._outputs):
            self._given = [torch.ones_like(v) for v in self._outputs]
        torch.autograd.grad(self._outputs, self._leaves, self._given, allow_unused=True)
        self._outputs = []

    @property
    def trains(self) -> bool:
        """Whether the last call returned something to differentiate."""
        return bool(self._outputs)


def _flat(value: Any) -> list[Any]:
    if isinstance(value, dict):
        value = list(value.values())
    return [leaf for item in value for leaf in _flat(item)] if isinstance(value, (tuple, list)) else [value]


def _device(inputs: list[Any]) -> str:
    kinds = {v.device.type for v in inputs if isinstance(v, torch.Tensor)}
    return "cuda" if "cuda" in kinds else "cpu"


class _Clock:
    """Seconds of what runs between two questions: on a GPU by events, there the call returns before it is done."""

    def __init__(self, device: str) -> None:
        self._device = device

    def __call__(self, work: Callable[[], None]) -> float:
        if self._device == "cuda":
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            work()
            end.record()
            torch.cuda.synchronize()
            return float(begin.elapsed_time(end)) / 1e3
        begun = time.perf_counter()
        work()
        return time.perf_counter() - begun


def _round(way: TimedWay, calls: int, clock: _Clock) -> tuple[float, float]:
    """Seconds of a forward and of a backward, the mean of some calls."""
    forward = backward = 0.0
    for _ in range(calls):
        forward += clock(way.forward)
        if way.trains:
            backward += clock(way.backward)
    return forward / calls, backward / calls


def peak_memory(way: TimedWay, device: str) -> int:
    """The most bytes that one round allocates at once, over what there was before."""
    if device == "cuda":
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        _once(way)
        torch.cuda.synchronize()
        return int(torch.cuda.max_memory_allocated() - before)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as profile:
        _once(way)
    results = profile.profiler.kineto_results
    found = [(e.start_ns(), e.nbytes()) for e in results.events() if e.name() == "[memory]"]
    held = peak = 0
    for _, size in sorted(found, key=lambda event: event[0]):
        held += size
        peak = max(peak, held)
    return peak


def _once(way: TimedWay) -> None:
    way.forward()
    if way.trains:
        way.backward()


def timed(script: Any, backend: str, pairs: int) -> dict[str, Any]:
    """Rounds of both ways, one of each in turn, each pair in the other order than the one before."""
    make = getattr(script, "captured", script.Captured)
    torch._dynamo.reset()
    eager = TimedWay(make(), script)
    compiled = TimedWay(torch.compile(make(), backend=backend), script)
    clock = _Clock(_device(eager.inputs))
    for way in (eager, compiled):
        for _ in range(_WARM):
            _once(way)
    shortest = min(sum(_round(way, 1, clock)) for way in (eager, compiled))
    calls = max(1, min(_MOST_CALLS, int(_SHORTEST / max(shortest, 1e-7))))
    rounds: dict[str, list[tuple[float, float]]] = {"eager": [], "compiled": []}
    for number in range(pairs):
        order = [("eager", eager), ("compiled", compiled)]
        for name, way in order if number % 2 == 0 else reversed(order):
            rounds[name].append(_round(way, calls, clock))
    memory = {name: peak_memory(way, _device(eager.inputs)) for name, way in (("eager", eager), ("compiled", compiled))}
    return {"rounds": rounds, "memory": memory, "calls": calls, "device": _device(eager.inputs)}


def main(arguments: list[str]) -> int:
    """Exit status 0; 2 where the script cannot be loaded or run, with the reason as JSON."""
    path, backend, pairs = arguments
    try:
        with contextlib.redirect_stdout(sys.stderr):
            spec = importlib.util.spec_from_file_location("timed_script", path)
            assert spec is not None and spec.loader is not None
            script = importlib.util.module_from_spec(spec)
            sys.modules["timed_script"] = script
            spec.loader.exec_module(script)
            found = timed(script, backend, int(pairs))
    except Exception as error:
        print(json.dumps({"problem": f"{type(error).__name__}: {error}".partition("\n")[0]}))
        return 2
    print(json.dumps(found))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
