"""What the elements of an integer input add up to: ``repeat_interleave`` with an ``output_size`` wants just that many.

Input: a ``GraphClass`` and the types of its parameters.  Output: for each parameter that says how often something is
repeated (perhaps seen through operations that only change its shape or dtype) the sum of its elements.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from depyf.dump.graphs.graph_text import GraphClass
from depyf.dump.graphs.masks import SHAPES, called
from depyf.dump.graphs.value_types import Number, TensorType, evaluate

_DTYPES = frozenset({"int", "long"})
_NAME = "repeat_interleave"


def totals(
    graph: GraphClass, types: Mapping[str, TensorType], symbols: Mapping[str, Number]
) -> dict[str, tuple[int, str]]:
    """Parameter -> the sum of its elements, and what asks for it."""
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
        if name != _NAME:
            continue
        given = {word.arg: word.value for word in value.keywords}
        repeats = given.get("repeats")
        counted = repeats.id if isinstance(repeats, ast.Name) else operands[1] if len(operands) > 1 else operands[0]
        size = evaluate(ast.unparse(given["output_size"]), symbols) if "output_size" in given else None
        if counted in origins and isinstance(size, int):
            found[origins[counted]] = size, f"{_NAME} makes {size} elements"
    return found
