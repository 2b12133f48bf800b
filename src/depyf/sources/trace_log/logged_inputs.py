"""The inputs of graphs, as far as a log tells them: by the types in the text of the graph, and by what torch describes.

Input: ``describe_tensor``, ``describe_source`` and ``describe_storage`` events, the text of a captured graph, symbols
and guards of its compilation; the metadata that AOTAutograd logs.  Output: ``GraphFacts``; what is not told is left
out, and an input that is told in two ways is left without its source.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from depyf.run.graphs.graph_facts import AotFacts, GraphFacts, InputFacts, ModeFacts, TensorFacts
from depyf.run.graphs.graph_source import importable
from depyf.run.graphs.value_types import Number, evaluate, printed_symbol, printed_tensor
from depyf.run.guards.guard_kind import check_in, keywords
from depyf.run.records import GuardRecord, SymbolRecord
from depyf.safety.unheard import parse

AOT_METADATA = "aot_forward_graph_fw_metadata"
DESCRIBED = ("describe_tensor", "describe_source", "describe_storage")
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9]+")
_OUTPUT = re.compile(
    r"OutputAliasInfo\(\s*output_type=<OutputType\.(?P<kind>\w+): \d+>,\s*raw_type=<class '(?P<type>[^']*)'>,\s*"
    r"base_idx=(?P<base>None|\d+),.*?requires_grad=(?P<grad>True|False)",
    re.S,
)
_MUTATED = re.compile(r"\b(?:mutates_data|mutates_metadata|mutation_inductor_storage_resize)=True")
_WITH_TANGENT = ("non_alias", "unsafe_view_alias", "custom_function_view")
_MOST = 1 << 16
"""Tensors that are remembered of one compilation."""


@dataclass
class DescribedTensors:
    """torch's descriptions of the tensors in one compilation."""

    tensors: dict[tuple[object, object], Mapping[str, Any]] = field(default_factory=dict)
    storages: dict[tuple[object, object], int] = field(default_factory=dict)
    sources: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    """Where the program keeps it -> the last one described so."""

    def take(self, metadata: Mapping[str, Any]) -> None:
        """Add the descriptions in one record's metadata."""
        for kind in DESCRIBED:
            data = metadata.get(kind)
            if not isinstance(data, dict) or len(self.tensors) > _MOST:
                continue
            number = _plain(data.get("describer_id")), _plain(data.get("id"))
            if kind == "describe_tensor":
                self.tensors[number] = data
            elif kind == "describe_storage" and type(data.get("size")) is int:
                self.storages[number] = data["size"]
            elif kind == "describe_source" and number in self.tensors:
                self.sources[str(data.get("source"))] = self.tensors[number]


def _plain(value: object) -> object:
    return value if isinstance(value, (int, str)) else None


def graph_facts(
    text: str, described: DescribedTensors, symbols: Iterable[SymbolRecord], guards: Iterable[GuardRecord] = ()
) -> GraphFacts | None:
    """The facts about a graph with this ``text``; None where it cannot be parsed.  ``described`` and ``guards`` tell
    its inputs and the state of torch, for a graph that Dynamo captured."""
    known = tuple(symbols)
    values = {one.name: _value(one.value) for one in known if one.value}
    numbers: dict[str, Number] = {name: value for name, value in values.items() if value is not None}
    names: dict[str, list[str]] = {}
    for source in dict.fromkeys((*described.sources, *(one.source for one in known if one.source))):
        names.setdefault(_NOT_IN_NAMES.sub("_", source), []).append(source)
    of_symbol = {one.name: one.source for one in known}
    inputs = []
    storages: list[tuple[object, object] | None] = []
    for name, annotation in _parameters(text):
        found = names.get(_NOT_IN_NAMES.sub("_", name), [])
        source = found[0] if len(found) == 1 else ""
        expression = printed_symbol(annotation)
        if expression is not None:
            value = evaluate(expression, numbers)
            kind = type(value).__name__ if value is not None else "int"
            inputs.append(InputFacts(name, kind, source or of_symbol.get(name, ""), symbol=expression, value=value))
            storages.append(None)
            continue
        data = described.sources.get(source, {})
        tensor = _tensor(annotation, data, numbers)
        if tensor is None:
            return None
        role = "parameter" if data.get("is_parameter") is True else "input"
        role = "buffer" if role == "input" and "_buffers[" in source else role
        inputs.append(InputFacts(name, "tensor", source, role, tensor))
        storages.append((data.get("describer_id"), data.get("storage")) if "storage" in data else None)
    used = {name: value for name, value in numbers.items() if any(_names(one, name) for one in inputs)}
    return GraphFacts(
        inputs=_with_storages(inputs, storages, described),
        symbols=tuple(sorted(used.items())),
        modes=_modes(guards),
    )


def _parameters(text: str) -> list[tuple[str, str]]:
    """The parameters of the graph, each with its type."""
    try:
        tree = parse(importable(text))
    except (SyntaxError, ValueError, RecursionError):
        return []
    made = next((node for node in tree.body if isinstance(node, ast.ClassDef)), None)
    for node in made.body if made is not None else ():
        if isinstance(node, ast.FunctionDef) and node.name == "forward":
            return [
                (one.arg, str(one.annotation.value) if isinstance(one.annotation, ast.Constant) else "")
                for one in node.args.args[1:]
            ]
    return []


def _tensor(annotation: str, data: Mapping[str, Any], symbols: Mapping[str, Number]) -> TensorFacts | None:
    tensor = printed_tensor(annotation)
    if tensor is None or tensor.wrapper or tensor.stride is None:
        return None
    shape, strides = (_integers(parts, symbols) for parts in (tensor.size, tensor.stride))
    if shape is None or strides is None:
        return None
    return TensorFacts(
        dtype=f"torch.{tensor.dtype}",
        size=tensor.size,
        stride=tensor.stride,
        shape=shape,
        strides=strides,
        offset=data["storage_offset"] if type(data.get("storage_offset")) is int else 0,
        device=tensor.device,
        requires_grad=data.get("requires_grad") is True,
        leaf=data.get("is_leaf") is True if data else True,
    )


def _integers(parts: Iterable[str], symbols: Mapping[str, Number]) -> tuple[int, ...] | None:
    found = [evaluate(part, symbols) for part in parts]
    return tuple(one for one in found if isinstance(one, int)) if all(type(one) is int for one in found) else None


def _value(text: str) -> int | float | None:
    try:
        return int(text) if text.removeprefix("-").isdigit() and len(text) < 20 else float(text)
    except ValueError:
        return None


def _names(one: InputFacts, symbol: str) -> bool:
    written = (one.symbol, *(one.tensor.size if one.tensor else ()), *(one.tensor.stride if one.tensor else ()))
    return any(re.search(rf"\b{re.escape(symbol)}\b", text) for text in written)


def _with_storages(
    inputs: list[InputFacts], storages: list[tuple[object, object] | None], described: DescribedTensors
) -> tuple[InputFacts, ...]:
    """Those that are views of one storage marked."""
    shared = [one for one, count in Counter(storages).items() if one is not None and count > 1]
    return tuple(
        replace(item, storage=(shared.index(one), described.storages.get(one, 0))) if one in shared and one else item
        for item, one in zip(inputs, storages)
    )


def _modes(guards: Iterable[GuardRecord]) -> ModeFacts | None:
    """The state of torch that the guards want."""
    for guard in guards:
        check = check_in(guard.expression, ("check_global_state",))
        if check is not None:
            state = keywords(check)
            grad = state.get("grad_mode")
            if isinstance(grad, ast.Constant) and isinstance(state.get("autocast"), ast.Dict):
                if getattr(state["autocast"], "keys", True):
                    return None  # what it casts to is not told
                dtype = ast.unparse(state["default_dtype"]) if "default_dtype" in state else "torch.float32"
                deterministic = state.get("deterministic_algorithms")
                return ModeFacts(
                    grad=grad.value is True,
                    deterministic=isinstance(deterministic, ast.Constant) and deterministic.value is True,
                    default_dtype="" if dtype == "torch.float32" else dtype,
                )
    return None


def aot_facts(text: str) -> AotFacts | None:
    """What AOTAutograd logs of a forward graph (``ViewAndMutationMeta``); None where an input is mutated: which are
    returned then is not told."""
    inputs, _, rest = text.partition("output_info=[")
    outputs, _, rest = rest.partition("num_intermediate_bases=")
    found = list(_OUTPUT.finditer(outputs))
    bases = re.match(r"\d{1,6}", rest)
    if bases is None or _MUTATED.search(inputs) or len(found) != outputs.count("OutputAliasInfo("):
        return None
    if re.search(r"\btokens=\{\}", rest) is None:
        return None
    kinds = tuple(one["kind"] for one in found)
    return AotFacts(
        inputs=inputs.count("InputAliasInfo("),
        outputs=kinds,
        output_tangents=tuple(
            place
            for place, one in enumerate(found)
            if kinds[place] in _WITH_TANGENT
            and one["type"].rpartition(".")[2].endswith(("Tensor", "Parameter"))
            and one["grad"] == "True"
        ),
        output_bases=tuple(None if one["base"] == "None" else int(one["base"]) for one in found),
        bases=int(bases[0]),
        subclasses="SubclassCreationMeta(" in rest,
    )
