"""Keeps the first inputs of each captured graph in the dump: ``prepare_debug(record=...)``.

Input: a live captured graph while torch reports it, when Dynamo still holds what the program gave to it: the call that
is compiled is the first.  Output: a file beside the graph's.  Invariant: never more than ``limit`` bytes of tensors in
all the files of a dump; the program's tensors and random numbers are as before, and nothing of them is kept alive.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from depyf.errors import DepyfError
from depyf.run.files.layout import failed_file, recorded_file
from depyf.run.files.writer import DumpWriter
from depyf.run.graphs.graph_facts import GraphFacts, InputFacts
from depyf.run.recorded.recorded_inputs import LIMIT, CompiledWith, Recorded, RecordedInput, file_of
from depyf.run.recorded.tensor_file import BYTES, TensorEntry
from depyf.run.records import GraphRecord
from depyf.safety.guarded import problem
from depyf.sources.live.inputs.backend_reading import compiled_with
from depyf.sources.live.inputs.storage_copies import StorageCopies, copies_of
from depyf.sources.live.pure_access import attribute, is_a
from depyf.sources.live.pure_tensors import is_tensor, module_attribute, out_of_reach, referent


def limit_of(record: object) -> int:
    """The bytes that ``record=`` asks for, 0 for none; DepyfError where it is neither a bool nor a number of bytes."""
    if record is True:
        return LIMIT
    if is_a(record, int) and int(record) >= 0:  # type: ignore[call-overload]
        return int(record)  # type: ignore[call-overload, no-any-return]
    raise DepyfError(f"prepare_debug(record={record!r}): it takes True, False, or the number of bytes to keep at most")


class InputRecorder:
    """Writes the inputs of graphs into one dump, up to ``limit`` bytes of tensors."""

    def __init__(self, writer: DumpWriter, limit: int) -> None:
        self._writer = writer
        self.limit = limit
        self._taken: dict[str, int] = {}
        """File -> bytes of tensors in it."""

    def take(self, record: GraphRecord, module: Any) -> None:
        """Write the first inputs of the captured graph ``module``."""
        facts = record.facts or GraphFacts()
        constants = {item.name: _constant(module, item.name) for item in facts.constants}
        self._write(recorded_file(record), facts, _given(module), constants, how=compiled_with())

    def take_failed(self, record: GraphRecord, arguments: Sequence[Any], error: BaseException) -> None:
        """Write the ``arguments`` of a call of the graph that raised ``error``."""
        facts = record.facts or GraphFacts()
        if len(arguments) == len(facts.inputs):
            given = {item.name: value for item, value in zip(facts.inputs, arguments)}
            self._write(failed_file(record), facts, given, {}, error=problem(error))

    def _write(
        self,
        name: str,
        facts: GraphFacts,
        given: Mapping[str, Any],
        constants: Mapping[str, Any],
        error: str = "",
        how: CompiledWith | None = None,
    ) -> None:
        """``how``: None after a call, when the state of random numbers is no longer that of its beginning."""
        tensors = {item.name: given.get(item.name) for item in facts.inputs if item.kind == "tensor"}
        tensors |= {_constant_key(key): value for key, value in constants.items() if is_tensor(value)}
        room = self.limit - sum(self._taken.values())
        copies = copies_of(tensors, room, self.limit)
        recorded = Recorded(
            tuple(_input(item, given.get(item.name), copies) for item in facts.inputs),
            tuple(
                dataclasses.replace(copies.places[key], name=constant)
                for constant in constants
                if (key := _constant_key(constant)) in copies.places
            ),
            _add_generators(copies, facts) if how is not None else {},
            copies.entries,
            error,
            how or CompiledWith(),
        )
        if self._writer.write(name, file_of(recorded)):
            self._taken[name] = copies.taken

    def drop(self, record: GraphRecord) -> None:
        """Remove the files of a graph whose compilation torch restarted."""
        for name in (recorded_file(record), failed_file(record)):
            if self._taken.pop(name, None) is not None:
                self._writer.remove(name)


def _given(module: Any) -> dict[str, Any]:
    """Placeholder -> what the program gave."""
    return {
        str(node.target): referent(attribute(node.meta.get("grapharg"), "_example"))
        for node in module.graph.nodes
        if node.op == "placeholder"
    }


def _constant(module: Any, name: str) -> Any:
    for part in name.split("."):
        module = module_attribute(module, part)
    return module


def _constant_key(name: str) -> str:
    return f"self.{name}"


def _input(item: InputFacts, value: Any, copies: StorageCopies) -> RecordedInput:
    layout = item.tensor
    if item.kind != "tensor" or layout is None:
        number = value if type(value) in (bool, int, float) else item.value
        left_out = "" if number is not None else f"it is no tensor and no number ({item.kind})"
        return RecordedInput(item.name, item.source, value=number, left_out=left_out)
    place = copies.places[item.name]
    if place.left_out:
        place = dataclasses.replace(place, dtype=layout.dtype, shape=layout.shape, stride=layout.strides)
    return dataclasses.replace(
        place,
        source=item.source,
        device=layout.device,
        requires_grad=layout.requires_grad,
        leaf=layout.leaf,
        role=item.role,
    )


def _add_generators(copies: StorageCopies, facts: GraphFacts) -> dict[str, str]:
    """The states of the generators of random numbers that the graph may draw from; device -> entry."""
    states = {}
    with out_of_reach():
        states["cpu"] = torch.default_generator.get_state()
        for device in sorted({item.tensor.device for item in facts.inputs if item.tensor is not None}):
            if (
                device.startswith("cuda")
                and torch.cuda.is_initialized()
                and not torch.cuda.is_current_stream_capturing()
            ):
                states[device] = torch.cuda.get_rng_state(device)
    found = {}
    for device, state in states.items():
        found[device] = name = f"rng.{device}"
        data = memoryview(bytes(state.tolist()))
        copies.entries[name] = TensorEntry(BYTES, (data.nbytes,), data)
    return found
