"""From a compiled graph's global to the Python functions that it really runs.

Input: the callable that a ``__compiled_fn_*`` global holds.  Output: the live GraphModules (backends eager and
aot_eager, forward and backward) and the functions of generated wrappers (inductor).  Nothing is called and no torch
function is patched: closures, bound objects and instance dictionaries are read, up to a bound.
"""

from __future__ import annotations

import functools
import linecache
import re
import types
from dataclasses import dataclass
from typing import Any

from depyf.run.compile_stages import BACKWARD, CAPTURED, FORWARD
from depyf.run.global_names import COMPILED_FN
from depyf.run.graphs.unrolled_loops import FEWEST, UnrolledLoop, unrolled_loops
from depyf.run.records import CompileKey, GraphRecord
from depyf.safety.source_lines import source_text
from depyf.sources.live.caches.entries import LiveEntry
from depyf.sources.live.origins.node_reading import OPERATIONS, stacks_of
from depyf.sources.live.pure_access import (
    attribute,
    cell_contents,
    class_module,
    class_name,
    class_namespace,
    in_classes,
    is_a,
    own_attributes,
    short_name,
)

_MAX_OBJECTS = 20_000
_MAX_DEPTH = 24
_MOST_SOURCE = 1 << 20
_SKIP = frozenset(
    # Not run at call time, and large: compile-time configuration and the graphs kept for a later recompilation.
    "decompositions metadata saved_context saved_compile_context bw_module _lazy_backward_info tracing_context "
    "fake_mode aot_config fw_metadata shape_env __globals__ __builtins__".split()
)


@dataclass(frozen=True, slots=True)
class LiveCode:
    """The Python functions that run one compiled graph.  Holds live objects: keep it only while looking."""

    modules: tuple[Any, ...]
    wrappers: tuple[types.FunctionType, ...]
    compiled: tuple[Any, ...]
    """Inductor's ``CompiledFxGraph`` objects."""


def calls_graphs() -> bool:
    """Whether the backend ``aot_eager`` calls its graphs; up to torch 2.6 it interprets them, node by node."""
    import torch.fx.graph

    return hasattr(torch.fx.graph, "_BoxedCodeGen")


def compiled_functions(entry: LiveEntry) -> list[Any]:
    """The callables in the ``__compiled_fn_*`` globals that the entry's code names."""
    if entry.globals is None:
        return []
    names = [name for name in entry.code.co_names if COMPILED_FN.match(name)]
    return [entry.globals[name] for name in names if name in entry.globals]


def live_code(roots: list[Any]) -> LiveCode:
    """Walk from ``roots`` to everything that holds executable Python."""
    modules: dict[int, Any] = {}
    wrappers: dict[int, types.FunctionType] = {}
    compiled: dict[int, Any] = {}
    seen: dict[int, Any] = {}
    queue: list[tuple[Any, int]] = [(root, 0) for root in roots]
    lazy = not calls_graphs()  # what is interpreted has no Python yet
    position = 0
    while position < len(queue) and position < _MAX_OBJECTS:
        value, depth = queue[position]
        position += 1
        if id(value) in seen or depth > _MAX_DEPTH:
            continue
        seen[id(value)] = value
        if lazy and attribute(type(value), "real_recompile") is not None:  # torch.fx._lazy_graph_module
            value.real_recompile()
        if is_graph_module(value):
            modules[id(value)] = value
        elif type(value) is types.FunctionType and is_wrapper(value):
            wrappers[id(value)] = value
        elif short_name(type(value)) == "CompiledFxGraph":
            compiled[id(value)] = value
        queue.extend((child, depth + 1) for child in _children(value))
    return LiveCode(tuple(modules.values()), tuple(wrappers.values()), tuple(compiled.values()))


def graphs_alive(key: CompileKey, entry: LiveEntry) -> list[GraphRecord]:
    """The graphs of an entry whose compilation was not reported, with the shapes and lines that their nodes still
    hold."""
    modules = live_code(compiled_functions(entry)).modules
    inner = {id(child) for module in modules for child in module._modules.values()}
    records: list[GraphRecord] = []
    for module in modules:
        source = source_of(type(module).__dict__["forward"].__code__)
        if source and id(module) not in inner:
            stage = _stage(source)
            index = sum(record.stage == stage for record in records)
            records.append(GraphRecord(key, stage, index, _as_reported(module) or _class_text(source)))
    return records


def captured_graphs(key: CompileKey, entry: LiveEntry, operations: int | None) -> list[GraphRecord]:
    """The graphs that Dynamo captured, without their text; the loops that are unrolled in a long one."""
    functions = compiled_functions(entry)
    loops = _loops(functions) if (operations or 0) >= FEWEST else ()
    return [GraphRecord(key, CAPTURED, n, "", loops=() if n else loops) for n in range(len(functions))]


def captured_modules(functions: list[Any]) -> list[Any]:
    """The graph modules that Dynamo captured, as far as ``functions``, the backend's, hold them."""
    return [
        module
        for module in live_code(functions).modules
        if hasattr(module, "graph") and _stage(source_of(type(module).__dict__["forward"].__code__)) == CAPTURED
    ]


def _loops(functions: list[Any]) -> tuple[UnrolledLoop, ...]:
    for module in captured_modules(functions):
        text = source_of(type(module).__dict__["forward"].__code__)
        nodes = [node for node in module.graph.nodes if node.op in OPERATIONS]
        if len(nodes) >= FEWEST:
            return unrolled_loops(stacks_of(nodes), text, lambda path: source_text(path, _MOST_SOURCE))
    return ()


_TANGENT, _PRIMAL = re.compile(r"\btangents_\d+\b"), re.compile(r"\b(?:primals_\d+|arg\d+_\d+)\b")


def _stage(source: str) -> str:
    """Which graph it is, by the names that AOTAutograd gives to inputs."""
    if _TANGENT.search(source):
        return BACKWARD
    return FORWARD if _PRIMAL.search(source) else CAPTURED


def _as_reported(module: Any) -> str:
    """The graph as torch prints it while compiling: called with its inputs one by one; "" where it cannot be
    printed."""
    import torch

    try:
        plain = torch.fx.Graph()
        result, _ = plain.graph_copy(module.graph, {}, return_output_node=True)
        plain.output(result)
        made = _unwritten()(module, plain)
        return str(made.print_readable(print_output=False, include_stride=True, include_device=True))
    except Exception:  # a graph changed by other code may raise anything
        return ""


def _unwritten() -> Any:
    """A class of graph modules that writes no code before it is called: torch keeps all that it writes in
    ``linecache``."""
    import torch

    try:
        from torch.fx._lazy_graph_module import _LazyGraphModule
    except ImportError:
        return torch.fx.GraphModule
    return _LazyGraphModule


def _class_text(source: str) -> str:
    body = "".join("    " + line if line.strip() else line for line in source.strip("\n").splitlines(True))
    return f"class GraphModule(torch.nn.Module):\n{body}\n"


def is_graph_module(value: Any) -> bool:
    forward = class_namespace(type(value)).get("forward")
    return (
        type(forward) is types.FunctionType
        and is_generated(forward.__code__)
        and is_a(attribute(value, "_modules"), dict)
    )


def is_generated(code: types.CodeType) -> bool:
    """Whether torch.fx generated the code: its file name is ``<eval_with_key>``."""
    return code.co_filename.startswith("<eval_with_key>")


def is_wrapper(function: types.FunctionType) -> bool:
    """Whether ``function`` belongs to a module that Inductor generated."""
    return "async_compile" in function.__globals__ and function.__module__ != "torch._inductor.async_compile"


def source_of(code: types.CodeType) -> str:
    """The source of a generated function, which torch.fx keeps in linecache."""
    return "".join(linecache.getlines(code.co_filename))


def wrapper_path(text: str) -> str:
    """The file in Inductor's cache whose content is ``text``, among the loaded ones; "" where there is none."""
    import torch._inductor.codecache as codecache

    for module in codecache.PyCodeCache.modules:
        path = str(getattr(module, "__file__", ""))
        if path and "".join(linecache.getlines(path)) == text:
            return path
    return ""


def _children(value: Any) -> list[Any]:
    kind = type(value)
    if kind is types.FunctionType:
        return [*_cells(value), *_attributes(value.__dict__)]
    if kind is types.MethodType:
        return [value.__func__, value.__self__]
    if kind is types.BuiltinMethodType:  # a class method of C: `CompiledFunction.apply`
        return [value.__self__] if is_a(value.__self__, type) else []
    if kind is functools.partial:
        return [value.func, *value.args, *value.keywords.values()]
    if kind in (list, tuple):
        return list(value[:64])
    if kind is dict:
        return list(value.values())[:64] if len(value) <= 256 else []
    if is_a(value, type):
        return _class_members(value)
    module = class_module(kind)
    if is_graph_module(value):
        return list(value._modules.values())
    if (
        module.startswith(("torch", "functools", "depyf"))
        or "<locals>" in class_name(kind)
        or "_call" in class_namespace(kind)
    ):
        if module.startswith(("torch.nn", "torch._ops", "torch._C", "torch.fx")) or in_classes(kind, "TensorBase"):
            return []
        return _attributes(own_attributes(value) or {})
    if short_name(kind) == "Runner":  # the class of a generated wrapper
        return _class_members(kind)
    return []


def _cells(function: types.FunctionType) -> list[Any]:
    values = []
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
        if name in _SKIP:
            continue
        values.append(cell_contents(cell))  # None for an empty one
    return values


def _attributes(namespace: dict[str, Any]) -> list[Any]:
    return [value for name, value in dict.copy(namespace).items() if name not in _SKIP]


def _class_members(cls: type) -> list[Any]:
    if "<locals>" not in class_name(cls) and short_name(cls) != "Runner":
        return []
    return [
        value.__func__ if type(value) in (staticmethod, classmethod) else value
        for name, value in class_namespace(cls).items()
        if name not in _SKIP
    ]
