"""The memory of each compiled graph of a run.

Input: a ``Run``.  Output: ``GraphMemory`` for each compile id with a backward, or with a wrapper whose plan can be
read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from depyf.run.compile_stages import BACKWARD, CAPTURED, FORWARD, WRAPPER
from depyf.run.graphs.graph_facts import LayerFacts
from depyf.run.graphs.graph_source import read_printed
from depyf.run.graphs.value_types import Number, tensor_type
from depyf.run.memory.allocation_plan import AllocationPlan, allocation_plan
from depyf.run.memory.saved_tensors import KEPT, KeptForBackward, kept_for_backward
from depyf.run.memory.tensor_bytes import tensor_bytes
from depyf.run.records import CodeRecord, CompileKey, EntryRecord, GraphRecord
from depyf.run.run import Run
from depyf.run.shapes.size_names import size_name


@dataclass(frozen=True, slots=True)
class GraphMemory:
    """The memory of one compilation's graphs.  ``kept`` is None without a backward, ``forward`` and ``backward`` are
    None without a generated wrapper."""

    key: CompileKey
    code: CodeRecord | None
    kept: KeptForBackward | None
    forward: AllocationPlan | None
    backward: AllocationPlan | None
    sizes: tuple[tuple[str, str], ...] = ()
    """The symbolic sizes that the bytes are for, by the program's name."""


def graph_memories(run: Run) -> tuple[GraphMemory, ...]:
    """The memory of each compiled graph, the one that keeps most bytes for its backward first."""
    entries = {entry.key: (function.code, entry) for function in run.functions for entry in function.entries}
    graphs: dict[CompileKey, dict[tuple[str, int], GraphRecord]] = {}
    for graph in run.graphs:
        graphs.setdefault(graph.key, {})[graph.stage, graph.index] = graph
    found = []
    for key, own in graphs.items():
        code, entry = entries.get(key, (None, None))
        memory = _memory(key, code, entry, own)
        if memory.kept is not None or memory.forward is not None:
            found.append(memory)
    found.sort(key=lambda memory: (-(memory.kept.bytes if memory.kept is not None else -1), memory.key.order))
    return tuple(found)


def _memory(
    key: CompileKey, code: CodeRecord | None, entry: EntryRecord | None, own: Mapping[tuple[str, int], GraphRecord]
) -> GraphMemory:
    forward, backward = own.get((FORWARD, 0)), own.get((BACKWARD, 0))
    symbols, names = _symbols(entry, forward)
    captured = own.get((CAPTURED, 0))
    given = captured.facts.inputs if captured is not None and captured.facts is not None else ()
    kept = None
    held: dict[str, int] = {}
    if forward is not None and backward is not None:
        kept = kept_for_backward(forward.text, backward.text, given, symbols, names, _modules(forward))
        held = {tensor.name: tensor.size.count or 0 for tensor in kept.saved if tensor.kind == KEPT}
        held |= _tangents(backward, symbols)
    sizes = {names.get(name, name): str(value) for name, value in sorted(symbols.items()) if name in names}
    return GraphMemory(
        key, code, kept,
        _plan(own.get((WRAPPER, 0)), forward, symbols, {}),
        _plan(own.get((WRAPPER, 1)), backward, symbols, held) if backward is not None else None,
        tuple(sizes.items()),
    )  # fmt: skip


def _modules(graph: GraphRecord) -> dict[str, str]:
    facts = graph.facts.layers if graph.facts is not None else LayerFacts()
    paths = [size_name(path).text for path, _, _ in facts.modules]
    return {name: paths[place] for name, place in facts.layers if place < len(paths)}


def _symbols(entry: EntryRecord | None, forward: GraphRecord | None) -> tuple[dict[str, Number], dict[str, str]]:
    values: dict[str, Number] = {}
    names: dict[str, str] = {}
    for symbol in entry.symbols if entry is not None else ():
        if symbol.value.isdigit():
            values[symbol.name] = int(symbol.value)
            sources = symbol.sources or (symbol.source,)
            names[symbol.name] = size_name(sources[0]).text or symbol.name
    if forward is not None and forward.facts is not None:
        values |= dict(forward.facts.symbols)
    return values, names


def _tangents(backward: GraphRecord, symbols: Mapping[str, Number]) -> dict[str, int]:
    """The gradients that a backward is given, with their bytes."""
    types = read_printed(backward.text).types
    sizes = {name: tensor_bytes(kind, symbols, {}) for name, kind in types.items() if name.startswith("tangents_")}
    return {name: size.count for name, size in sizes.items() if size is not None and size.count is not None}


def _plan(
    wrapper: GraphRecord | None, graph: GraphRecord | None, symbols: Mapping[str, Number], held: Mapping[str, int]
) -> AllocationPlan | None:
    if wrapper is None:
        return None
    types: dict[tuple[int, ...], str] = {}
    for text in read_printed(graph.text).types.values() if graph is not None else ():
        kind = tensor_type(text, symbols)
        if kind is not None and None not in kind.shape:
            shape = tuple(size or 0 for size in kind.shape)
            types[shape] = kind.dtype if types.get(shape, kind.dtype) == kind.dtype else ""
    return allocation_plan(wrapper.text, symbols, held, types)
