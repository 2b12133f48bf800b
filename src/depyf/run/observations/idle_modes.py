"""A mode of ``torch.compile`` that changes nothing: CUDA graphs where all tensors are on the CPU.

Input: a run.  Output: an observation for each call of ``torch.compile`` with such a mode.  torch makes no CUDA graph of
a graph with an input on the CPU.
"""

from __future__ import annotations

from collections.abc import Iterator

from depyf.run.compile_stages import CAPTURED
from depyf.run.observations.observation import Observation, ObservationKind
from depyf.run.program_calls.compile_calls import CompileCall
from depyf.run.records import CompileKey
from depyf.run.run import Run

_MODE = "reduce-overhead"


def idle_modes(run: Run) -> Iterator[Observation]:
    """One observation for each such call where the devices of all graphs are known and are the CPU."""
    for call in run.compile_calls:
        keys = _compiled(call, run) if call.mode == _MODE else ()
        if keys and _devices(run, keys) == {"cpu"}:
            text = f'mode="{_MODE}" changes nothing here: all tensors of `{call.wrapped}` are on the CPU'
            ways = ("leave the mode out: it makes CUDA graphs",)
            yield Observation(ObservationKind.MODE, call.place, text, ways)


def _compiled(call: CompileCall, run: Run) -> tuple[CompileKey, ...]:
    """The compilations of the function that a call of the result runs."""
    place = (call.body.filename, call.body.line) if call.body is not None else ("", 0)
    functions = (f for f in run.functions if (f.code.filename, f.code.line) == place)
    return tuple(entry.key for function in functions for entry in function.entries)


def _devices(run: Run, keys: tuple[CompileKey, ...]) -> set[str]:
    graphs = (graph.facts for graph in run.graphs if graph.stage == CAPTURED and graph.key in keys)
    inputs = (one.tensor for facts in graphs if facts is not None for one in facts.inputs)
    return {tensor.device for tensor in inputs if tensor is not None}
