"""Instruments graphs: every intermediate value becomes an output, or every gradient.

Input: a GraphModule that Dynamo captured.  Output: a changed copy; the original is never touched.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from depyf.run.global_names import resumed
from depyf.run.places.place import Place
from depyf.run.places.stack_text import frames_in
from depyf.sources.live.events.module_path import node_module

_REACH = 12
"""Operations before and after one that are near it."""


@dataclass(frozen=True, slots=True)
class ProbedNode:
    """One operation of a graph and the user's line after it."""

    name: str
    operation: str
    place: str
    """``file:line in function: code``; "" where torch does not know."""
    module: str = ""
    """The path of the module that computes it; "" outside of modules."""


def clean_copy(gm: Any) -> Any:
    """A copy that any backend may compile again: without the fake values of the compilation it comes from."""
    import torch

    # submodules and attributes stay shared: parameters must be the program's own
    graph = copy.deepcopy(gm.graph)
    made = torch.fx.GraphModule(gm, graph)
    for node in made.graph.nodes:
        for key in ("example_value", "val", "tensor_meta", "grapharg"):
            node.meta.pop(key, None)
    return made


def operations(gm: Any) -> list[Any]:
    """The nodes that compute something, in the order they run."""
    return [node for node in gm.graph.nodes if node.op in ("call_function", "call_method", "call_module")]


def with_outputs(gm: Any, names: list[str]) -> Any:
    """A copy whose outputs are copies of the named nodes' values, taken right after each is computed."""
    made = clean_copy(gm)
    kept = []
    for node in operations(made):
        if node.name in names:
            with made.graph.inserting_after(node):
                kept.append(made.graph.call_function(_clone, (node,)))
    _set_output(made, tuple(kept))
    return made


def ending_at(gm: Any, name: str) -> Any:
    """A copy whose output is the value of one node, with its history."""
    made = clean_copy(gm)
    _set_output(made, tuple(node for node in operations(made) if node.name == name))
    return made


def with_offsets(gm: Any, names: list[str]) -> Any:
    """A copy with one more input per named node, added to its value: the input's gradient is the node's gradient."""
    made = clean_copy(gm)
    nodes = [node for node in operations(made) if node.name in names]
    last = next((node for node in reversed(made.graph.nodes) if node.op == "placeholder"), None)
    for node in nodes:
        start = last if last is not None else next(iter(made.graph.nodes))
        with made.graph.inserting_after(start) if last is not None else made.graph.inserting_before(start):
            last = made.graph.placeholder(f"offset_{node.name}")
        users = list(node.users)
        with made.graph.inserting_after(node):
            moved = made.graph.call_function(_add, (node, last))
        for user in users:
            user.replace_input_with(node, moved)
    _finish(made)
    return made


def around(gm: Any, name: str, values: Mapping[str, Any]) -> tuple[Any, tuple[Any, ...]]:
    """A graph of the few operations before and after the one of that name, and its inputs.

    ``values``: of all nodes.  The results are the tensors that other operations use.  KeyError where a value lacks.
    """
    import torch

    nodes = operations(gm)
    place = next(number for number, node in enumerate(nodes) if node.name == name)
    near = nodes[max(place - _REACH, 0) : place + _REACH + 1]
    read = dict.fromkeys(node for one in near for node in one.all_input_nodes if node not in near)
    given = [node for node in read if node.op != "get_attr"]
    graph = torch.fx.Graph()
    made = {node: graph.placeholder(node.name) for node in given}
    for node in (*(node for node in read if node.op == "get_attr"), *near):
        made[node] = graph.node_copy(node, made.__getitem__)
    used = [node for node in near if not node.users or any(user not in near for user in node.users)]
    graph.output(tuple(made[node] for node in used if isinstance(values[node.name], torch.Tensor)))
    return clean_copy(torch.fx.GraphModule(gm, graph)), tuple(values[node.name] for node in given)


def describe(node: Any) -> ProbedNode:
    """The name, operation and line of a node, for the user."""
    target = node.target if isinstance(node.target, str) else getattr(node.target, "__name__", str(node.target))
    place = user_line(str(node.meta.get("stack_trace") or ""))
    return ProbedNode(node.name, f"{node.op} {target}", place, node_module(node))


def user_line(stack_trace: str) -> str:
    """The innermost frame outside torch, as ``file:line in function: code``; of the rest of a function after a graph
    break the name is that of the function."""
    frame = outside_torch(frames_in(stack_trace))
    if frame is None:
        return ""
    rest = resumed(frame.function)
    return f"{frame if rest is None else replace(frame, function=rest[0])}: {frame.text}"


def outside_torch(frames: list[Place]) -> Place | None:
    """The innermost frame that is not in torch itself; the innermost of all where there is no such frame."""
    import torch

    inside = os.path.dirname(torch.__file__)
    return next((f for f in reversed(frames) if not f.filename.startswith(inside)), frames[-1] if frames else None)


def _clone(value: Any) -> Any:
    import torch

    return value.detach().clone() if isinstance(value, torch.Tensor) else value


def _add(value: Any, offset: Any) -> Any:
    return value + offset


def _set_output(gm: Any, values: tuple[Any, ...]) -> None:
    output = next(node for node in gm.graph.nodes if node.op == "output")
    output.args = (values,)
    _finish(gm)


def _finish(gm: Any) -> None:
    gm.graph.eliminate_dead_code()
    gm.graph.lint()
    gm.recompile()
