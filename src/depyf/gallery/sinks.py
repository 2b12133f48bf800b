"""The operations that are defined for some values only, and what each of them takes.

Input: a call in a captured graph, with the intervals of its operands.  Output: complaints, added to the run of the
evaluator (``evaluate.py``).
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from depyf.gallery.intervals import INF

if TYPE_CHECKING:
    from depyf.gallery.evaluate import Body

_TINY = 1e-30
_DOMAINS: dict[str, tuple[float, float]] = {
    "log": (_TINY, INF), "log2": (_TINY, INF), "log10": (_TINY, INF), "log1p": (-1 + 1e-6, INF), "rsqrt": (_TINY, INF),
    "sqrt": (0.0, INF), "lgamma": (_TINY, INF), "digamma": (_TINY, INF), "logit": (1e-6, 1 - 1e-6),
    "acos": (-1.0, 1.0), "arccos": (-1.0, 1.0), "asin": (-1.0, 1.0), "arcsin": (-1.0, 1.0),
    "atanh": (-1 + 1e-6, 1 - 1e-6), "arctanh": (-1 + 1e-6, 1 - 1e-6), "acosh": (1.0, INF), "erfinv": (-1 + 1e-6, 1 - 1e-6),
    "multinomial": (0.0, INF), "bernoulli": (0.0, 1.0), "poisson": (0.0, INF), "bincount": (0.0, INF),
}  # fmt: skip
_DIVISIONS = frozenset({"div", "divide", "true_divide", "floor_divide", "remainder", "fmod"})
_ALONG = {"gather": 2, "index_select": 2, "scatter": 2, "scatter_add": 2, "scatter_reduce": 2, "index_add": 2, "index_copy": 2, "index_fill": 2, "take_along_dim": 1}  # fmt: skip
"""Operations with an index along a dimension -> position of the index; the dimension stands at 1 (``dim=``)."""


def complain(body: Body, name: str, nodes: list[ast.expr], values: list[Any], keywords: Mapping[str, ast.expr]) -> None:
    """Add what the operation ``name`` asks of its operands."""
    name = name.rstrip("_")

    def argument(position: int, keyword: str) -> ast.expr | None:
        return keywords.get(keyword, nodes[position] if len(nodes) > position else None)

    where = body.here
    if name in _DOMAINS and values:
        low, high = _DOMAINS[name]
        body.run.sink(where, values[0], low, high, f"{name}() is taken of it")
    elif name in ("_assert_async", "_assert_scalar", "_check") and values:
        body.run.sink(where, values[0], 1, 1, "the program asserts something of it")
    elif name in _DIVISIONS and len(nodes) > 1:
        body.divided(nodes[1])
    elif name in ("embedding", "embedding_bag"):
        rows, table = (nodes[1], nodes[0]) if _is_aten(body, nodes) else (argument(0, "input"), argument(1, "weight"))
        shape = body.shape(table)
        if shape and rows is not None:
            body.index(where, rows, shape[0], "it selects rows of an embedding")
    elif name in _ALONG:
        index = argument(_ALONG[name], "indices" if name == "take_along_dim" else "index")
        dim = body.number(argument(2 if name == "take_along_dim" else 1, "dim"))
        shape = body.shape(nodes[0]) if nodes else ()
        if index is not None and dim is not None and -len(shape) <= dim < len(shape):
            body.index(where, index, shape[int(dim)], f"it indexes dimension {int(dim)} in {name}")
    elif name == "one_hot":
        count = body.number(argument(1, "num_classes"))
        if count is not None and count > 0 and nodes:
            body.index(where, nodes[0], int(count), "one_hot makes classes of it")
    elif name in ("cross_entropy", "nll_loss", "cross_entropy_loss", "nll_loss_nd", "multi_margin_loss"):
        _labels(body, nodes, argument)
    elif name in ("index_put", "index") and len(nodes) > 1 and isinstance(nodes[1], (ast.Tuple, ast.List)):
        body.indexed(nodes[0], nodes[1])
    elif name == "batch_norm":
        variance = argument(4 if len(values) > 4 and _is_aten_norm(body, nodes) else 2, "running_var")
        value = body.value(variance) if variance is not None else None
        body.run.sink(where, value, 0.0, INF, "it is the variance of a batch norm")
    elif name in ("binary_cross_entropy", "bce_loss"):
        for position, keyword in ((0, "input"), (1, "target")):
            node = argument(position, keyword)
            body.run.sink(f"{where}({keyword})", body.value(node) if node is not None else None, 0.0, 1.0,
                          "binary_cross_entropy takes probabilities")  # fmt: skip
    elif name == "kl_div":
        node = argument(1, "target")
        body.run.sink(where, body.value(node) if node is not None else None, 0.0, INF, "kl_div takes the logarithm of it")  # fmt: skip
    elif name == "ctc_loss":
        shape = body.shape(nodes[0]) if nodes else ()
        target = argument(1, "targets")
        if len(shape) == 3 and target is not None and shape[2]:
            body.run.sink(where, body.value(target), 1, shape[2] - 1, "ctc_loss takes labels above blank", index=True)


def _labels(body: Body, nodes: list[ast.expr], argument: Any) -> None:
    shape = body.shape(argument(0, "input"))
    target = argument(1, "target")
    kind = body.types.get(target.id) if isinstance(target, ast.Name) else None
    if not shape or kind is None or not kind.integer:
        return  # class probabilities
    classes = shape[1] if len(shape) > 1 else shape[0]
    ignored = body.number(argument(4, "ignore_index"))
    allowed = frozenset({-100.0 if ignored is None else ignored})
    if classes is not None:
        text = f"a loss takes it as class labels ({classes})"
        body.run.sink(body.here, body.value(target), 0, classes - 1, text, index=True, allowed=allowed)


def _is_aten(body: Body, nodes: list[ast.expr]) -> bool:
    """``aten.embedding(weight, ids)`` has its operands the other way round."""
    kind = body.types.get(nodes[0].id) if nodes and isinstance(nodes[0], ast.Name) else None
    return kind is not None and kind.floating


def _is_aten_norm(body: Body, nodes: list[ast.expr]) -> bool:
    """``torch.batch_norm(x, weight, bias, mean, var, ...)`` against ``F.batch_norm(x, mean, var, weight, ...)``."""
    return len(nodes) > 8
