"""Bounds the number of true elements of a mask: what ``masked_scatter`` takes from its source must be there, and what
is stored at the true elements has as many elements as they are.

Input: a ``GraphClass`` and the types of its parameters.  Output: for each parameter that is such a mask (perhaps seen
through operations that only change its shape) the number of true elements, or the largest one.  A mask that the graph
computes from values is left alone: compared with one token among many, hardly an element of made-up inputs is true.
``totals`` is what the elements of an integer input add up to: ``repeat_interleave`` with an ``output_size`` wants just
that many.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping

from depyf.run.graphs.graph_text import GraphClass
from depyf.run.graphs.value_types import Number, TensorType, evaluate, tensor_type

SHAPES = frozenset(
    "view reshape unsqueeze squeeze expand expand_as contiguous to bool "
    "clone detach flatten _unsafe_view view_as".split()
)
_DTYPES = frozenset({"int", "long"})
_REPEATS = "repeat_interleave"
_SCATTER = frozenset({"masked_scatter", "masked_scatter_"})


def most_true(
    graph: GraphClass, types: Mapping[str, TensorType], symbols: Mapping[str, Number]
) -> dict[str, tuple[int, str]]:
    """Parameter -> the largest number of true elements, and what asks for it."""
    known = dict(types)
    origins: dict[str, str] = {name: name for name in types}
    found: dict[str, tuple[int, str]] = {}
    for statement in graph.tree().body:
        value = getattr(statement, "value", None)
        target = statement.targets[0] if isinstance(statement, ast.Assign) else getattr(statement, "target", None)
        if isinstance(statement, ast.AnnAssign) and isinstance(target, ast.Name):
            kind = tensor_type(str(getattr(statement.annotation, "value", "")), symbols)
            if kind is not None:
                known[target.id] = kind
        if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Attribute):
            continue
        name, operands = called(value)
        if name in SHAPES and operands and isinstance(target, ast.Name) and operands[0] in origins:
            origins[target.id] = origins[operands[0]]
        elif name in _SCATTER and len(operands) > 2 and operands[1] in origins:
            mask = origins[operands[1]]
            sizes = [_count(known.get(part)) for part in (operands[0], operands[2], mask)]
            if mask in types and None not in sizes:
                whole, source, own = (size or 0 for size in sizes)
                most = source * own // max(1, whole)
                if most < found.get(mask, (own, ""))[0]:
                    found[mask] = most, f"masked_scatter has {source} elements for {whole}"
    return found


def exactly_true(
    graph: GraphClass, types: Mapping[str, TensorType], symbols: Mapping[str, Number]
) -> dict[str, tuple[int, str]]:
    """Parameter -> the number of true elements, and what asks for it: ``x[mask] = values``."""
    known = dict(types)
    found: dict[str, tuple[int, str]] = {}
    for statement in graph.tree().body:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            kind = tensor_type(str(getattr(statement.annotation, "value", "")), symbols)
            if kind is not None:
                known[statement.target.id] = kind
        stored = _stored(statement)
        if stored is None:
            continue
        base, mask, values = (known.get(name) for name in stored)
        if base is None or mask is None or values is None or mask.dtype != "bool" or stored[1] not in types:
            continue
        behind = len(base.shape) - len(mask.shape)
        count = values.shape[0] if len(values.shape) == behind + 1 else None  # else one row for all of them
        if count is not None and count != 1 and count <= (_count(mask) or 0):
            found[stored[1]] = count, f"{count} values are stored where it is true"
    return found


def _stored(statement: ast.stmt) -> tuple[str, str, str] | None:
    """The names of a tensor, of the only index into it, and of what is stored there."""
    value = getattr(statement, "value", None)
    nodes: list[ast.expr | None]
    if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Subscript):
        target = statement.targets[0]
        nodes = [target.value, target.slice, value]
    elif isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        name, _ = called(value)
        path = ast.unparse(value.func)
        arguments: list[ast.expr | None] = list(value.args)
        nodes = [*([] if path.startswith("torch.") else [value.func.value]), *arguments][:3]
        if name not in ("index_put", "index_put_"):
            return None
    else:
        return None
    index = nodes[1] if len(nodes) == 3 else None
    if isinstance(index, (ast.Tuple, ast.List)) and len(index.elts) == 1:
        nodes[1] = index.elts[0]
    names = [node.id for node in nodes if isinstance(node, ast.Name)]
    return (names[0], names[1], names[2]) if len(nodes) == len(names) == 3 else None


def called(node: ast.Call) -> tuple[str, list[str]]:
    """The operation and the names of its tensor operands; "" for what is no name."""
    path = ast.unparse(node.func).split(".")
    arguments = list(node.args)
    if path[0] != "torch" and isinstance(node.func, ast.Attribute):
        arguments.insert(0, node.func.value)  # a method
    name = path[3] if path[:3] == ["torch", "ops", "aten"] and len(path) > 3 else path[-1]
    return name, [item.id if isinstance(item, ast.Name) else "" for item in arguments]


def _count(kind: TensorType | None) -> int | None:
    return None if kind is None or None in kind.shape else math.prod(size or 0 for size in kind.shape)


def totals(
    graph: GraphClass, types: Mapping[str, TensorType], symbols: Mapping[str, Number]
) -> dict[str, tuple[int, str]]:
    """Parameter that says how often something is repeated -> the sum of its elements, and what asks for it."""
    origins: dict[str, str] = {name: name for name in types}
    found: dict[str, tuple[int, str]] = {}
    for statement in graph.tree().body:
        value = getattr(statement, "value", None)
        target = statement.targets[0] if isinstance(statement, ast.Assign) else getattr(statement, "target", None)
        if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Attribute):
            continue
        name, operands = called(value)
        if name in SHAPES | _DTYPES and operands and isinstance(target, ast.Name) and operands[0] in origins:
            origins[target.id] = origins[operands[0]]
        if name != _REPEATS:
            continue
        given = {word.arg: word.value for word in value.keywords}
        repeats = given.get("repeats")
        counted = repeats.id if isinstance(repeats, ast.Name) else operands[1] if len(operands) > 1 else operands[0]
        size = evaluate(ast.unparse(given["output_size"]), symbols) if "output_size" in given else None
        if counted in origins and isinstance(size, int):
            found[origins[counted]] = size, f"{_REPEATS} makes {size} elements"
    return found
