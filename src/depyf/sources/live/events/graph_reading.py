"""Reads the facts of a graph (``graph_facts``) from the live one, while torch reports it.

Input: the call stack below an event of torch, whose frames still hold the live graph.  Output: frozen records of
plain data (no tensor is kept).  Invariant: values are looked at through ``pure_access`` alone, so that reading changes
nothing; what this torch does not offer is left out.
"""

from __future__ import annotations

import math
import sys
import types
from collections import Counter
from dataclasses import replace
from typing import Any

from depyf.run.compile_stages import BACKWARD, CAPTURED, FORWARD
from depyf.run.graphs.graph_facts import AotFacts, ConstantFacts, GraphFacts, InputFacts, ModeFacts, TensorFacts
from depyf.sources.live.events.graph_layers import layer_facts
from depyf.sources.live.pure_access import (
    UnreadableError,
    attribute,
    class_module,
    full_name,
    inherits,
    is_a,
    literal,
    short_name,
)
from depyf.sources.live.pure_tensors import (
    elements,
    expression,
    extent,
    is_parameter,
    is_symbolic,
    is_tensor,
    module_attribute,
    number,
    referent,
    storage,
    symbol_of,
    symbolic_kind,
    tensor,
)

_DEPTH = 16
_MOST_READ = {"input": 1 << 16, "parameter": 1 << 12, "buffer": 1 << 12}
"""Role of an input -> the maximum number of reals read to find their range; 16 times as many of integers.  It takes
about a millisecond at most, whatever the model is."""
_KEPT_VALUES = 256  # elements; a larger constant is described by its shape and range
_MODULE_NAMES = {
    CAPTURED: ("gm",),
    FORWARD: ("fw_module",),
    BACKWARD: ("bw_module",),
}
_METADATA_NAMES = ("fw_metadata",)
_CACHED_METADATA = "_log_cached_graphs"  # the method whose ``self.runtime_metadata`` it is on a warm cache


def facts_of(stage: str) -> GraphFacts | None:
    """The facts of the graph that torch is reporting now; None where its frames do not hold it."""
    if stage not in _MODULE_NAMES:
        return None
    module, metadata, tracing = _reported(stage)
    aot = _aot(metadata) if metadata is not None and stage == FORWARD else None
    if module is None:
        return GraphFacts(aot=aot) if aot is not None else None
    symbols: dict[str, int | float] = {}
    return GraphFacts(
        inputs=_inputs([node for node in module.graph.nodes if node.op == "placeholder"], symbols),
        constants=_constants(module),
        symbols=tuple(sorted(symbols.items())),
        modes=_modes(tracing) if stage == CAPTURED else None,
        aot=aot,
        functions=_functions(module) if stage == CAPTURED else (),
        layers=layer_facts(module),
    )


def reported_graph(stage: str) -> Any:
    """The live graph that torch is reporting now; None where its frames do not hold it."""
    return _reported(stage)[0]


def _reported(stage: str) -> tuple[Any, Any, Any]:
    """The live graph, AOTAutograd's metadata and the tracing context in the frames of torch, as far as they are
    there."""
    names = _MODULE_NAMES[stage]
    module, metadata, tracing = None, None, None
    frame: types.FrameType | None = sys._getframe(2)
    for _ in range(_DEPTH):
        if frame is None:
            break
        if not str(frame.f_globals.get("__name__")).startswith(
            "torch."
        ):  # a variable of the program may have the same name
            frame = frame.f_back
            continue
        # reading f_locals makes a copy of them: only where one is of interest
        variables = frame.f_code.co_varnames + frame.f_code.co_cellvars
        if module is None and any(name in variables for name in names):
            module = next((v for name in names if _is_graph(v := frame.f_locals.get(name))), None)
            if stage == CAPTURED and module is not None:
                tracing = attribute(frame.f_locals.get("self"), "tracing_context")
        if metadata is None and any(name in variables for name in _METADATA_NAMES):
            metadata = frame.f_locals.get("fw_metadata")
        elif metadata is None and frame.f_code.co_name == _CACHED_METADATA:
            metadata = attribute(frame.f_locals.get("self"), "runtime_metadata")
        if module is not None and (metadata is not None or stage == CAPTURED):
            break
        frame = frame.f_back
    return module, metadata, tracing


_WRAPPERS = {"numpy_to_tensor_wrapper": "f", "numpy_operator_wrapper": "op", "numpy_method_wrapper": "method"}
"""Classes of ``torch._dynamo.utils`` that stand for functions of NumPy -> the attribute with the function."""


def _functions(module: Any) -> tuple[tuple[str, str], ...]:
    """The wrappers that a graph calls, by the names that torch.fx gives them in its text."""
    found: dict[str, str | None] = {}
    for graph in [part.graph for part in module.modules() if _is_graph(part)]:
        if any(_maker(node.target) is not None for node in graph.nodes if node.op == "call_function"):
            for name, value in graph.python_code("self").globals.items():
                made = _maker(value)
                if made is not None:
                    found[name] = made if found.get(name, made) == made else None  # another one in another graph
    return tuple(sorted((name, made) for name, made in found.items() if made is not None))


def _maker(value: Any) -> str | None:
    """The expression that makes such a wrapper; None for anything else."""
    kind = type(value)
    module, name = class_module(kind), short_name(kind)
    if kind is types.FunctionType and value.__name__ == "numpy_attr_wrapper":
        return "torch._dynamo.utils.numpy_attr_wrapper" if value.__module__ == "torch._dynamo.utils" else None
    inside = attribute(value, _WRAPPERS.get(name, ""))
    if module != "torch._dynamo.utils" or inside is None:
        return None
    if type(inside) is str:
        return f"{module}.{name}({inside!r})"
    called = str(attribute(inside, "__name__", ""))
    for home in ("operator", "torch._numpy", str(attribute(inside, "__module__", ""))):
        if attribute(sys.modules.get(home), called) is inside:
            return f"{module}.{name}({home}.{called})"
    return None


def _is_graph(value: Any) -> bool:
    import torch

    return is_a(value, torch.fx.GraphModule)


def _example(node: Any) -> Any:
    return node.meta.get("example_value", node.meta.get("val"))


def _inputs(nodes: list[Any], symbols: dict[str, int | float]) -> tuple[InputFacts, ...]:
    """The inputs in order, those that share a storage marked."""
    storages = [storage(_example(node)) for node in nodes]
    owners = [None if found is None else found[0] for found in storages]
    lengths = {found[0]: int(_number(found[1], symbols) or 0) for found in storages if found is not None}
    shared = [owner for owner, count in Counter(owners).items() if owner is not None and count > 1]
    places = {owner: place for place, owner in enumerate(shared)}
    found = (_input(node, symbols) for node in nodes)
    return tuple(
        replace(item, storage=(places[owner], lengths[owner])) if owner in places else item
        for item, owner in zip(found, owners)
    )


def _input(node: Any, symbols: dict[str, int | float]) -> InputFacts:
    value = _example(node)
    name = str(node.target)
    source = _source(node)
    if is_tensor(value):
        role = "parameter" if is_parameter(value) else "buffer" if _is_buffer(source, name) else "input"
        facts = _as_given(tensor_facts(value, symbols), node)
        return InputFacts(
            name, "tensor", source, role, facts, value=_number_in(node), passed=_passed(node, facts, role)
        )
    if is_symbolic(value):
        return InputFacts(name, symbolic_kind(value), source, symbol=expression(value), value=_number(value, symbols))
    kind = short_name(type(value))
    return InputFacts(name, kind, source, value=value if type(value) in (bool, int, float) else None)


def _as_given(facts: TensorFacts, node: Any) -> TensorFacts:
    """The input before the graph wrote to it: tracing has changed the fake tensor by now, not the program's own."""
    given = referent(attribute(node.meta.get("grapharg"), "_example"))
    if not is_tensor(given):
        return facts
    try:
        view = tensor(given)
    except UnreadableError:
        return facts
    facts = replace(facts, requires_grad=view.requires_grad, leaf=view.leaf)
    if facts.layout != "torch.strided" or not view.strided or view.size is None or view.stride is None:
        return facts
    shape, strides = (tuple(int(number(item) or 0) for item in items) for items in (view.size, view.stride))
    if (shape, strides) == (facts.shape, facts.strides):
        return facts
    size, stride = (tuple(map(expression, items)) for items in (view.size, view.stride))
    return replace(facts, size=size, stride=stride, shape=shape, strides=strides)


def _passed(node: Any, facts: TensorFacts, role: str) -> tuple[float, float] | None:
    """The smallest and the largest element of what the program passes, if these are finite and quickly read."""
    given = referent(attribute(node.meta.get("grapharg"), "_example"))
    most = _MOST_READ[role] * (16 if "int" in facts.dtype else 1)
    if facts.dtype == "torch.bool" or math.prod(facts.shape) > most or not is_tensor(given):
        return None
    return extent(given)


def _number_in(node: Any) -> Any:
    """The number of the program that torch passes as a tensor, on which later stages may have specialised; else
    None."""
    if attribute(node.meta.get("grapharg"), "pass_arg_as_tensor") is not True:
        return None
    return number(attribute(node.meta.get("example_value"), "_item_memo"))


def _source(node: Any) -> str:
    """Where the program keeps the input: ``L['self']._modules['fc']._parameters['weight']``."""
    source = attribute(node.meta.get("grapharg"), "source")
    try:
        name = getattr(source, "name", "")
        return str(name() if callable(name) else name)  # a property since torch 2.11
    except Exception:
        return ""


def _is_buffer(source: str, name: str) -> bool:
    return "_buffers[" in source or "_buffers_" in name


def tensor_facts(value: Any, symbols: dict[str, int | float]) -> TensorFacts:
    """The layout of a tensor, fake or real; the symbols in it are added to ``symbols``."""
    import torch
    from torch._subclasses.fake_tensor import FakeTensor

    view = tensor(value)
    plain = view.kind in (torch.Tensor, torch.nn.Parameter, FakeTensor) or short_name(view.kind) == "FakeParameter"
    size, stride = view.size or (), view.stride or ()
    return TensorFacts(
        dtype=str(view.dtype),
        size=tuple(map(expression, size)),
        stride=tuple(map(expression, stride)),
        shape=tuple(int(_number(item, symbols) or 0) for item in size),
        strides=tuple(int(_number(item, symbols) or 0) for item in stride),
        offset=int(_number(view.offset, symbols) or 0),
        device="" if view.device is None else str(view.device),
        requires_grad=view.requires_grad,
        leaf=view.leaf,
        layout=str(view.layout),
        subclass="" if plain else full_name(view.kind),
    )


def _number(value: Any, symbols: dict[str, int | float]) -> int | float | bool | None:
    """``number``; the value of what is one symbol is added to ``symbols``."""
    found = number(value)
    name = symbol_of(value)
    if name and found is not None:
        symbols[name] = found
    return found


def _constants(module: Any) -> tuple[ConstantFacts, ...]:
    found: dict[str, ConstantFacts] = {}
    for node in module.graph.nodes:
        name = str(node.target) if node.op == "get_attr" else ""
        if name and name not in found:
            value = module
            for part in name.split("."):
                value = module_attribute(value, part)
            if value is not None and not _is_graph(value):
                found[name] = _constant(name, value)
    return tuple(found.values())


def _constant(name: str, value: Any) -> ConstantFacts:
    if not is_tensor(value):
        return ConstantFacts(name, short_name(type(value)), text=literal(value))
    layout = tensor_facts(value, {})
    known = None if layout.subclass else elements(value, _KEPT_VALUES)
    if known is None:
        return ConstantFacts(name, "tensor", layout)
    return ConstantFacts(name, "tensor", layout, known.values, known.low, known.high)


def _modes(tracing: Any) -> ModeFacts:
    """The ambient state that Dynamo found when it started on the graph."""
    import torch

    before = attribute(attribute(tracing, "global_context"), "global_state") or {}

    def state(name: str, default: Any) -> Any:
        saved = before.get(name)
        return saved[1] if isinstance(saved, tuple) and len(saved) > 1 else default

    casts = {}
    for device in ("cpu", "cuda"):
        names = (
            ("autocast_enabled", "autocast_gpu_dtype")
            if device == "cuda"
            else ("autocast_cpu_enabled", "autocast_cpu_dtype")
        )
        if state(names[0], torch.is_autocast_enabled(device)):
            casts[device] = str(state(names[1], torch.get_autocast_dtype(device)))
    default = torch.get_default_dtype()
    return ModeFacts(
        grad=bool(state("grad_enabled", torch.is_grad_enabled())),
        inference=torch.is_inference_mode_enabled(),
        autocast=casts,
        deterministic=torch.are_deterministic_algorithms_enabled(),
        default_dtype="" if default == torch.float32 else str(default),
    )


def _aot(metadata: Any) -> AotFacts | None:
    """Read from a ``ViewAndMutationMeta``."""
    import torch

    try:
        infos, outputs = list(metadata.input_info), list(metadata.output_info)
        mutated = tuple(metadata.mutated_inp_runtime_indices)
        kinds = tuple(str(getattr(o.output_type, "name", o.output_type)) for o in outputs)
        return AotFacts(
            inputs=len(infos),
            mutated=mutated,
            mutated_tangents=tuple(i for i in mutated if infos[i].mutates_data and infos[i].requires_grad),
            outputs=kinds,
            output_tangents=tuple(
                i
                for i, o in enumerate(outputs)
                if kinds[i] in ("non_alias", "unsafe_view_alias", "custom_function_view")
                and inherits(o.raw_type, torch.Tensor)
                and o.requires_grad
            ),
            output_bases=tuple(o.base_idx for o in outputs),
            bases=int(metadata.num_intermediate_bases),
            tokens=len(getattr(metadata, "tokens", ()) or ()),
            subclasses=any(
                short_name(type(meta)) == "SubclassCreationMeta"
                for meta in [*metadata.subclass_inp_meta, *metadata.subclass_fw_graph_out_meta]
            ),
        )
    except Exception:
        return None  # another torch: the gallery then leaves AOTAutograd's graphs out
