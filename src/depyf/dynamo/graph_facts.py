"""What a printed graph does not say: gradients, symbol values, constants, and how AOTAutograd calls it.

Input: the call stack below an event of torch, whose frames still hold the live graph.  Output: frozen records of
plain data (no tensor is kept), which ``report.graph_inputs`` writes down and ``depyf.gallery`` reads.  Invariant:
reading them changes nothing and never raises; what this torch does not offer is left out.
"""

from __future__ import annotations

import sys
import types
from dataclasses import dataclass, field, replace
from typing import Any

_DEPTH = 16
_KEPT_VALUES = 256  # elements; a larger constant is described by its shape and range
_MODULE_NAMES = {
    "Captured_Graph": ("gm",),
    "Forward_graph": ("fw_module",),
    "Backward_graph": ("bw_module",),
}
_METADATA_NAMES = ("fw_metadata",)
_CACHED_METADATA = "_log_cached_graphs"  # the method whose ``self.runtime_metadata`` it is on a warm cache


@dataclass(frozen=True, slots=True)
class TensorFacts:
    """A tensor's layout; sizes and strides as torch writes them (``s77*2``) and as the numbers they stood for."""

    dtype: str
    size: tuple[str, ...]
    stride: tuple[str, ...]
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int = 0
    device: str = "cpu"
    requires_grad: bool = False
    leaf: bool = True
    layout: str = "torch.strided"
    subclass: str = ""


@dataclass(frozen=True, slots=True)
class InputFacts:
    """One input of a graph.  ``kind``: tensor, int, float, bool, or the name of a type that is none of these."""

    name: str
    kind: str
    source: str = ""
    role: str = "input"
    """``parameter``, ``buffer`` or ``input``."""
    tensor: TensorFacts | None = None
    symbol: str = ""
    value: int | float | bool | None = None
    """Of a number, also of one that torch passes as a tensor."""
    storage: tuple[int, int] | None = None
    """Inputs with the same number are views of one storage; its length in bytes."""


@dataclass(frozen=True, slots=True)
class ConstantFacts:
    """An attribute that the graph reads: a tensor with its values where there are few, or a plain value."""

    name: str
    kind: str
    tensor: TensorFacts | None = None
    values: tuple[Any, ...] | None = None
    """The elements in order; None where there are too many."""
    low: float | int | None = None
    high: float | int | None = None
    text: str = ""


@dataclass(frozen=True, slots=True)
class AotFacts:
    """How AOTAutograd's runtime calls a forward graph and reads what it returns."""

    inputs: int
    """How many inputs it takes, before tensor subclasses are unwrapped."""
    mutated: tuple[int, ...] = ()
    """Inputs whose new values the graph returns first."""
    mutated_tangents: tuple[int, ...] = ()
    """Those among them that have a tangent in the backward graph."""
    outputs: tuple[str, ...] = ()
    """What each output of the user's graph is: ``non_alias``, ``alias_of_input``, ..."""
    output_tangents: tuple[int, ...] = ()
    output_bases: tuple[int | None, ...] = ()
    bases: int = 0
    """Intermediate results returned because outputs are views of them."""
    tokens: int = 0
    subclasses: bool = False


@dataclass(frozen=True, slots=True)
class GraphFacts:
    """Everything known about one graph."""

    inputs: tuple[InputFacts, ...] = ()
    constants: tuple[ConstantFacts, ...] = ()
    symbols: tuple[tuple[str, int | float], ...] = ()
    modes: dict[str, Any] = field(default_factory=dict)
    """Ambient state while the graph is called: ``grad``, ``inference``, ``autocast``, ``deterministic``."""
    aot: AotFacts | None = None
    functions: tuple[tuple[str, str], ...] = ()
    """Names under which the text calls what torch made for it (NumPy's functions on tensors) -> expression that makes it."""


def facts_of(stage: str) -> GraphFacts | None:
    """The facts of the graph that torch is reporting now; None where its frames do not hold it."""
    names = _MODULE_NAMES.get(stage)
    if names is None:
        return None
    module, metadata, tracing = None, None, None
    frame: types.FrameType | None = sys._getframe(1)
    for _ in range(_DEPTH):
        if frame is None:
            break
        # reading f_locals makes a copy of them: only where one is of interest
        variables = frame.f_code.co_varnames + frame.f_code.co_cellvars
        if module is None and any(name in variables for name in names):
            module = next((v for name in names if _is_graph(v := frame.f_locals.get(name))), None)
            if stage == "Captured_Graph" and module is not None:
                tracing = getattr(frame.f_locals.get("self"), "tracing_context", None)
        if metadata is None and any(name in variables for name in _METADATA_NAMES):
            metadata = frame.f_locals.get("fw_metadata")
        elif metadata is None and frame.f_code.co_name == _CACHED_METADATA:
            metadata = getattr(frame.f_locals.get("self"), "runtime_metadata", None)
        if module is not None and (metadata is not None or stage == "Captured_Graph"):
            break
        frame = frame.f_back
    aot = _aot(metadata) if metadata is not None and stage == "Forward_graph" else None
    if module is None:
        return GraphFacts(aot=aot) if aot is not None else None
    symbols: dict[str, int | float] = {}
    return GraphFacts(
        inputs=_inputs([node for node in module.graph.nodes if node.op == "placeholder"], symbols),
        constants=_constants(module),
        symbols=tuple(sorted(symbols.items())),
        modes=_modes(tracing) if stage == "Captured_Graph" else {},
        aot=aot,
        functions=_functions(module) if stage == "Captured_Graph" else (),
    )


_WRAPPERS = {"numpy_to_tensor_wrapper": "f", "numpy_operator_wrapper": "op", "numpy_method_wrapper": "method"}
"""Classes of ``torch._dynamo.utils`` whose objects Dynamo calls where a program calls NumPy -> where they keep what they wrap."""


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
    if (
        getattr(value, "__name__", "") == "numpy_attr_wrapper"
        and getattr(value, "__module__", "") == "torch._dynamo.utils"
    ):
        return "torch._dynamo.utils.numpy_attr_wrapper"
    inside = getattr(value, _WRAPPERS.get(kind.__name__, ""), None)
    if kind.__module__ != "torch._dynamo.utils" or inside is None:
        return None
    if isinstance(inside, str):
        return f"{kind.__module__}.{kind.__name__}({inside!r})"
    name = str(getattr(inside, "__name__", ""))
    for home in ("operator", "torch._numpy", str(getattr(inside, "__module__", ""))):
        if getattr(sys.modules.get(home), name, None) is inside:
            return f"{kind.__module__}.{kind.__name__}({home}.{name})"
    return None


def _is_graph(value: Any) -> bool:
    return hasattr(value, "graph") and hasattr(value.graph, "nodes") and hasattr(value, "_modules")


def _inputs(nodes: list[Any], symbols: dict[str, int | float]) -> tuple[InputFacts, ...]:
    """The inputs in order, those that share a storage marked."""
    import torch

    owners: list[int | None] = []
    lengths: dict[int, int] = {}
    for node in nodes:
        value = node.meta.get("example_value", node.meta.get("val"))
        plain = isinstance(value, torch.Tensor) and value.layout == torch.strided
        try:
            owners.append(value.untyped_storage()._cdata if plain else None)
            if plain:
                lengths[value.untyped_storage()._cdata] = int(_hint(value.untyped_storage().nbytes(), symbols) or 0)
        except (RuntimeError, NotImplementedError):  # a wrapper subclass has none
            owners.append(None)
    shared = list(dict.fromkeys(owner for owner in owners if owner is not None and owners.count(owner) > 1))
    found = (_input(node, symbols) for node in nodes)
    return tuple(
        replace(item, storage=(shared.index(owner), lengths[owner])) if owner in shared else item
        for item, owner in zip(found, owners)
    )


def _input(node: Any, symbols: dict[str, int | float]) -> InputFacts:
    import torch

    value = node.meta.get("example_value", node.meta.get("val"))
    name = str(node.target)
    source = _source(node)
    if isinstance(value, torch.Tensor):
        role = (
            "parameter" if isinstance(value, torch.nn.Parameter) else "buffer" if _is_buffer(source, name) else "input"
        )
        facts = _as_given(tensor_facts(value, symbols), node)
        return InputFacts(name, "tensor", source, role, facts, value=_number_in(node))
    if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
        kind = {torch.SymInt: "int", torch.SymFloat: "float", torch.SymBool: "bool"}[type(value)]
        return InputFacts(name, kind, source, symbol=str(value), value=_hint(value, symbols))
    if isinstance(value, (bool, int, float)):
        return InputFacts(name, type(value).__name__, source, value=value)
    return InputFacts(name, type(value).__name__, source)


def _as_given(facts: TensorFacts, node: Any) -> TensorFacts:
    """The input before the graph wrote to it: tracing has changed the fake tensor by now, not the program's own."""
    import torch

    given = getattr(node.meta.get("grapharg"), "_example", None)
    given = given() if callable(given) and not isinstance(given, torch.Tensor) else given
    if not isinstance(given, torch.Tensor):
        return facts
    facts = replace(facts, requires_grad=bool(given.requires_grad), leaf=bool(given.is_leaf))
    if facts.layout != "torch.strided" or given.layout != torch.strided:
        return facts
    shape, strides = tuple(map(int, given.shape)), tuple(map(int, given.stride()))
    if (shape, strides) == (facts.shape, facts.strides):
        return facts
    numbers = tuple(map(str, shape)), tuple(map(str, strides))
    return replace(facts, size=numbers[0], stride=numbers[1], shape=shape, strides=strides)


def _number_in(node: Any) -> Any:
    """The number of the program that torch passes as a tensor, on which later stages may have specialised; else None."""
    if not getattr(node.meta.get("grapharg"), "pass_arg_as_tensor", False):
        return None
    found = _hint(getattr(node.meta.get("example_value"), "item_memo", None), {})
    return found if isinstance(found, (bool, int, float)) else None


def _source(node: Any) -> str:
    """Where the program keeps the input: ``L['self']._modules['fc']._parameters['weight']``."""
    source = getattr(node.meta.get("grapharg"), "source", None)
    name = getattr(source, "name", "")
    try:
        return str(name() if callable(name) else name)  # a property since torch 2.11
    except Exception:
        return ""


def _is_buffer(source: str, name: str) -> bool:
    return "_buffers[" in source or "_buffers_" in name


def tensor_facts(value: Any, symbols: dict[str, int | float]) -> TensorFacts:
    """The layout of a tensor, fake or real; the symbols in it are added to ``symbols``."""
    import torch
    from torch._subclasses.fake_tensor import FakeTensor

    plain = type(value) in (torch.Tensor, torch.nn.Parameter, FakeTensor) or type(value).__name__ == "FakeParameter"
    strided = value.layout == torch.strided
    size = tuple(value.shape)
    stride = tuple(value.stride()) if strided else ()
    offset = value.storage_offset() if strided else 0
    return TensorFacts(
        dtype=str(value.dtype),
        size=tuple(map(str, size)),
        stride=tuple(map(str, stride)),
        shape=tuple(int(_hint(item, symbols) or 0) for item in size),
        strides=tuple(int(_hint(item, symbols) or 0) for item in stride),
        offset=int(_hint(offset, symbols) or 0),
        device=str(value.device),
        requires_grad=bool(value.requires_grad),
        leaf=bool(value.is_leaf),
        layout=str(value.layout),
        subclass="" if plain else f"{type(value).__module__}.{type(value).__qualname__}",
    )


def _hint(value: Any, symbols: dict[str, int | float]) -> Any:
    """The number a symbolic value stood for while it was traced; None for one that nobody knows (``.item()``)."""
    node = getattr(value, "node", None)
    if node is None:
        return value
    try:
        hint = node.hint if node.has_hint() else None
        if not isinstance(hint, (bool, int, float)):  # the length that varies in a nested tensor
            return None
        expression = node.expr
        if hint is not None and getattr(expression, "is_Symbol", False):
            symbols[str(expression)] = hint
        return hint
    except Exception:
        return None


def _constants(module: Any) -> tuple[ConstantFacts, ...]:
    found: dict[str, ConstantFacts] = {}
    for node in module.graph.nodes:
        if node.op == "get_attr" and str(node.target) not in found:
            value: Any = module
            for part in str(node.target).split("."):
                value = getattr(value, part, None)
            if value is not None and not _is_graph(value):
                found[str(node.target)] = _constant(str(node.target), value)
    return tuple(found.values())


def _constant(name: str, value: Any) -> ConstantFacts:
    import torch

    if not isinstance(value, torch.Tensor):
        text = repr(value) if isinstance(value, (bool, int, float, str, torch.dtype, torch.device)) else ""
        return ConstantFacts(name, type(value).__name__, text=text)
    layout = tensor_facts(value, {})
    if layout.subclass or type(value).__name__.startswith("Fake") or value.device.type == "meta":
        return ConstantFacts(name, "tensor", layout)
    from torch.utils._python_dispatch import _disable_current_modes

    with _disable_current_modes(), torch.no_grad():
        count = value.numel()
        if 0 < count <= _KEPT_VALUES and not value.is_quantized:
            return ConstantFacts(name, "tensor", layout, tuple(value.detach().cpu().flatten().tolist()))
        if count and not value.dtype.is_complex and not value.is_quantized:
            numbers = value.detach().to("cpu", torch.float64)
            return ConstantFacts(name, "tensor", layout, None, numbers.min().item(), numbers.max().item())
    return ConstantFacts(name, "tensor", layout)


def _modes(tracing: Any) -> dict[str, Any]:
    """The ambient state that Dynamo found when it started on the graph; deviations from the defaults only."""
    import torch

    before = getattr(getattr(tracing, "global_context", None), "global_state", None) or {}

    def state(name: str, default: Any) -> Any:
        saved = before.get(name)
        return saved[1] if isinstance(saved, tuple) and len(saved) > 1 else default

    modes: dict[str, Any] = {"grad": bool(state("grad_enabled", torch.is_grad_enabled()))}
    if torch.is_inference_mode_enabled():
        modes["inference"] = True
    casts = {}
    for device in ("cpu", "cuda"):
        names = ("autocast_enabled", "autocast_gpu_dtype") if device == "cuda" else ("autocast_cpu_enabled", "autocast_cpu_dtype")  # fmt: skip
        if state(names[0], torch.is_autocast_enabled(device)):
            casts[device] = str(state(names[1], torch.get_autocast_dtype(device)))
    if casts:
        modes["autocast"] = casts
    if torch.are_deterministic_algorithms_enabled():
        modes["deterministic"] = True
    if torch.get_default_dtype() != torch.float32:
        modes["default_dtype"] = str(torch.get_default_dtype())
    return modes


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
                and issubclass(o.raw_type, torch.Tensor)
                and o.requires_grad
            ),
            output_bases=tuple(o.base_idx for o in outputs),
            bases=int(metadata.num_intermediate_bases),
            tokens=len(getattr(metadata, "tokens", ()) or ()),
            subclasses=any(
                type(meta).__name__ == "SubclassCreationMeta"
                for meta in [*metadata.subclass_inp_meta, *metadata.subclass_fw_graph_out_meta]
            ),
        )
    except Exception:
        return None  # another torch: the gallery then leaves AOTAutograd's graphs out
