"""Reads where the operations of a live graph come from, while torch reports it.

Input: the call stack below an event of torch, whose frames hold the live graph, and the text that torch reports.
Output: ``NodeOrigins`` (plain data), or None where no frame holds the graph of that text.  Nothing is changed; linear
in the graph.
"""

from __future__ import annotations

import re
import sys
import types
from collections.abc import Iterator
from typing import Any

from depyf.run.compile_stages import BACKWARD, BEFORE_POST_GRAD, CAPTURED, FORWARD, JOINT, POST_GRAD, WRAPPER
from depyf.run.graphs.node_origins import Frame, NodeOrigins
from depyf.run.places.stack_text import frames_in
from depyf.sources.live.pure_access import attribute, short_name

_DEPTH = 16
_NAMES = {
    CAPTURED: ("gm",),
    "AFTER_PRE_GRAD": ("model_", "gm"),
    JOINT: ("fx_g",),
    FORWARD: ("fw_module",),
    BACKWARD: ("bw_module",),
    "AFTER_JOINT_GRAPH": ("gm",),
    BEFORE_POST_GRAD: ("gm",),
    POST_GRAD: ("gm",),
}
"""Stage -> the variables of torch's functions that hold the graph while it is reported."""
_DEFINED = re.compile(r"^ +(\w+)(?::? \"[^\"\n]*\"| : [^=\n]*)? = ", re.M)
OPERATIONS = ("call_function", "call_method", "call_module")


def origins_of(stage: str, text: str) -> NodeOrigins | None:
    """What torch's frames say now of the graph, or the wrapper, whose text is ``text``; None where they do not hold
    it."""
    if stage == WRAPPER:
        return _of_kernels()
    names = _NAMES.get(stage)
    if names is None:
        return None
    defined: frozenset[str] | None = None
    for frame in _frames_of_torch():
        variables = frame.f_code.co_varnames + frame.f_code.co_cellvars
        for name in names:
            if name not in variables:
                continue
            graph = attribute(frame.f_locals.get(name), "_graph")  # a GraphModule of torch keeps it there
            if graph is None:
                continue
            nodes = [node for node in graph.nodes if node.op in OPERATIONS]
            defined = defined if defined is not None else frozenset(_DEFINED.findall(text))
            if nodes and all(node.name in defined for node in nodes):
                return (
                    NodeOrigins(stacks=stacks_of(nodes))
                    if stage == CAPTURED
                    else NodeOrigins(captured=_captured(nodes))
                )
    return None


def _frames_of_torch() -> Iterator[types.FrameType]:
    frame: types.FrameType | None = sys._getframe(1)
    for _ in range(_DEPTH):
        if frame is None:
            return
        if str(frame.f_globals.get("__name__")).startswith("torch."):
            yield frame
        frame = frame.f_back


def _meta(node: Any) -> dict[str, Any]:
    meta = attribute(node, "meta")
    return meta if type(meta) is dict else {}


def stacks_of(nodes: list[Any]) -> tuple[tuple[str, tuple[Frame, ...]], ...]:
    """The lines that ran each operation, the outermost first, as its node keeps them."""
    read: dict[str, tuple[Frame, ...]] = {}
    found = []
    for node in nodes:
        text = _meta(node).get("stack_trace")
        if type(text) is str and text:
            if text not in read:
                read[text] = tuple((one.filename, one.line, one.function) for one in frames_in(text))
            found.append((str(node.name), read[text]))
    return tuple(found)


def stack_of(node: Any) -> tuple[Frame, ...]:
    """The lines that ran an operation, the outermost first."""
    found = stacks_of([node])
    return found[0][1] if found else ()


def module_classes(node: Any) -> tuple[type, ...]:
    """The classes of the modules that an operation is in, the outermost first."""
    stack = _meta(node).get("nn_module_stack")
    held = dict.values(stack) if isinstance(stack, dict) else ()
    return tuple(one[1] for one in held if type(one) is tuple and len(one) == 2 and isinstance(one[1], type))


def _captured(nodes: list[Any]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Forward operations say their origin themselves.  A backward operation has the number of the forward ones whose
    gradient it is; where their stacks differ (a sum of gradients has the number of another), what ran before it with
    the same stack."""
    forward: dict[object, list[tuple[str, object]]] = {}
    for node in nodes:
        meta, origin = _meta(node), _origin(node)
        if origin and meta.get("seq_nr") is not None:
            forward.setdefault(meta["seq_nr"], []).append((origin, meta.get("stack_trace")))
    found: dict[str, tuple[str, ...]] = {}
    last: dict[object, tuple[str, ...]] = {}
    for node in nodes:
        meta, origin = _meta(node), _origin(node)
        stack = meta.get("stack_trace")
        if origin:
            names: tuple[str, ...] = (origin,)
        else:
            same = [name for name, other in forward.get(meta.get("seq_nr"), ()) if other == stack]
            names = tuple(dict.fromkeys(same)) or last.get(stack, ())
        if names:
            found[str(node.name)] = names
            if stack is not None:
                last[stack] = names
    return tuple(found.items())


def _origin(node: Any) -> str:
    """The operation of the captured graph that ``node`` was made for; "" where it has none."""
    chain = _meta(node).get("from_node")
    if type(chain) is not list or not chain:
        return ""
    first = chain[0]
    if type(first) is tuple:  # up to torch 2.6
        name = first[0] if first else ""
    else:
        name = attribute(attribute(first, "node_info"), "name")
    return name if type(name) is str else ""


def lowered_graph(stage: str) -> Any:
    """The ``GraphLowering`` of which Inductor reports the wrapper; None where the wrapper came from a cache, and for
    another stage."""
    if stage != WRAPPER:
        return None
    for frame in _frames_of_torch():
        if "self" in frame.f_code.co_varnames:
            graph = frame.f_locals.get("self")
            if short_name(type(graph)) == "GraphLowering":
                return graph
    return None


def _of_kernels() -> NodeOrigins | None:
    """Asked while Inductor reports the wrapper: its scheduler says what each kernel computes."""
    nodes = attribute(attribute(lowered_graph(WRAPPER), "scheduler"), "nodes")
    kernels: list[tuple[tuple[str, ...], tuple[str, ...]]] = []
    computed: set[str] = set()
    for one in nodes if type(nodes) is list else ():
        buffers, found = _kernel(one)
        if short_name(type(one)) == "ExternKernelSchedulerNode":  # it says what made its inputs, too
            found = tuple(name for name in found if name not in computed)
        computed.update(found)
        if buffers and found:
            kernels.append((buffers, found))
    return NodeOrigins(kernels=tuple(kernels)) if kernels else None


def _kernel(scheduled: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The buffers that one node of the scheduler writes, and the operations of the graph that it was made for."""
    buffers: dict[str, None] = {}
    found: dict[str, None] = {}
    parts = attribute(scheduled, "snodes")
    for part in parts if type(parts) is list else [scheduled]:
        outputs = attribute(part, "outputs")
        for output in outputs if type(outputs) is list else ():
            buffers[str(attribute(attribute(output, "node"), "name", ""))] = None
        origins = attribute(attribute(part, "node"), "origins")
        for node in origins if origins is not None and short_name(type(origins)) in ("OrderedSet", "set") else ():
            if attribute(node, "op") in OPERATIONS:
                found[str(attribute(node, "name"))] = None
    buffers.pop("", None)
    return tuple(buffers), tuple(sorted(found))
