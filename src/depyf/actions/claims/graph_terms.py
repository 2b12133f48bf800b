"""A graph that Dynamo captured, as operations on terms.

Input: the live GraphModule, as the backend got it.  Output: what calling it gives.  Nothing of it runs.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any

from depyf.actions.claims.terms import NotTriedError, Term, TermTrace
from depyf.sources.live.origins.probes import describe


def check_graph(module: Any) -> None:
    """NotTriedError where the graph has a symbolic size, an unknown input or a node that calls no operator."""
    import torch

    for node in module.graph.nodes:
        if node.op in ("get_attr", "call_module"):
            raise NotTriedError(f"the graph has a node {node.op}")
        example = node.meta.get("example_value")
        if node.op == "placeholder" and example is None:
            raise NotTriedError("the graph does not say what its inputs are")
        if any(type(one) in (torch.SymInt, torch.SymFloat, torch.SymBool) for one in _parts(example)):
            raise NotTriedError("a size is a symbol")


def _parts(example: Any) -> Iterator[Any]:
    """The value, and the sizes of a tensor."""
    import torch

    if isinstance(example, (tuple, list)):
        for one in example:
            yield from _parts(one)
    else:
        yield example
        if isinstance(example, torch.Tensor):
            yield from tuple(example.shape)


def targets_of(module: Any) -> list[Any]:
    """The callables of the operations in the graph ``module``."""
    return [node.target for node in module.graph.nodes if node.op == "call_function"]


def call_graph(module: Any, args: tuple[Any, ...], trace: TermTrace) -> Any:
    """The terms that the graph ``module`` returns for ``args``; its operations are appended to ``trace``.
    NotTriedError for an input that is no tensor, or without an output."""
    known: dict[Any, Any] = {}
    given = iter(args)

    def value_of(part: Any) -> Any:
        if hasattr(part, "meta") and part in known:
            return known[part]
        if isinstance(part, (list, tuple)) and type(part).__name__ != "Size":
            made = [value_of(one) for one in part]
            return made if isinstance(part, list) else tuple(made)
        if isinstance(part, dict):
            return {name: value_of(one) for name, one in part.items()}
        if isinstance(part, slice):
            return slice(value_of(part.start), value_of(part.stop), value_of(part.step))
        return part

    for node in module.graph.nodes:
        if node.op == "placeholder":
            known[node] = next(given)
            if not isinstance(known[node], Term):
                raise NotTriedError("the graph has an input that is no tensor")
        elif node.op == "output":
            return value_of(node.args[0])
        else:
            told = describe(node)
            line = str(told.place) if told.place else ""
            example = node.meta.get("example_value")
            target, operands = _as_written(node.target, value_of(node.args))
            known[node] = trace.made(target, operands, value_of(node.kwargs), line, example)
    raise NotTriedError("the graph has no output")


_GETTERS = {"numpy_T": "T", "mT": "mT", "matrix_H": "H", "mH": "mH"}
"""Operators of aten that an attribute of a tensor calls, and nothing else
(``torch/csrc/autograd/python_variable.cpp``)."""


def _as_written(target: Any, operands: Any) -> tuple[Any, Any]:
    """Since torch 2.15 a graph has the operator in the place of the attribute."""
    import torch

    name = getattr(target, "__name__", "")
    if name in _GETTERS and target is getattr(torch.ops.aten, name, None) and len(operands) == 1:
        return getattr, (*operands, _GETTERS[name])
    return target, operands


OPERATORS = {
    "Add": operator.add, "Sub": operator.sub, "Mult": operator.mul, "Div": operator.truediv,
    "FloorDiv": operator.floordiv, "Mod": operator.mod, "Pow": operator.pow, "MatMult": operator.matmul,
    "BitAnd": operator.and_, "BitOr": operator.or_, "BitXor": operator.xor, "LShift": operator.lshift,
    "RShift": operator.rshift, "Eq": operator.eq, "NotEq": operator.ne, "Lt": operator.lt, "LtE": operator.le,
    "Gt": operator.gt, "GtE": operator.ge, "USub": operator.neg, "UAdd": operator.pos, "Invert": operator.invert,
}  # fmt: skip
"""Python's operators, by the name of their node of the ast, as torch.fx writes them."""
IN_PLACE = {
    "Add": operator.iadd, "Sub": operator.isub, "Mult": operator.imul, "Div": operator.itruediv,
    "FloorDiv": operator.ifloordiv, "Mod": operator.imod, "Pow": operator.ipow, "MatMult": operator.imatmul,
    "BitAnd": operator.iand, "BitOr": operator.ior, "BitXor": operator.ixor, "LShift": operator.ilshift,
    "RShift": operator.irshift,
}  # fmt: skip
