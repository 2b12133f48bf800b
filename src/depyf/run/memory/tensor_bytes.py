"""How many bytes a printed tensor type takes: ``f32[2, s48, 64][64*s48, 64, 1]cpu``.

Input: the annotation, the values of symbols when it was compiled and their names.  Output: a number, and for a type
with symbols the formula.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from depyf.run.graphs.value_types import Number, printed_tensor
from depyf.run.shapes.size_expression import (
    NO_VALUE,
    SizeExpression,
    evaluator,
    number,
    read_size_expression,
    summed,
    written,
)

_WIDTH = re.compile(r"(?:bfloat|float|complex|u?int)(?P<bits>\d+)")
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


@dataclass(frozen=True, slots=True)
class TensorBytes:
    """``count`` is None where a size is not known; ``formula`` is "" for a type without symbols."""

    type: str
    """``f32[2, s48, 64]``: without strides and device."""
    count: int | None
    formula: str = ""


def item_bytes(dtype: str) -> int | None:
    """The bytes of one element of ``float32``, ``torch.bool``; None for what is no such type."""
    name = dtype.removeprefix("torch.")
    if name == "bool":
        return 1
    match = _WIDTH.match(name)
    return int(match["bits"]) // 8 if match else None


def storage_bytes(shape: tuple[int | None, ...], stride: tuple[int | None, ...] | None, width: int) -> int | None:
    """What a tensor of this layout takes; an expanded dimension (stride 0) takes nothing."""
    if None in shape or (stride is not None and None in stride):
        return None
    sizes = [size or 0 for size in shape]
    if 0 in sizes:
        return 0
    if stride is None or len(stride) != len(sizes):
        total = 1
        for size in sizes:
            total *= size
        return total * width
    return (1 + sum((size - 1) * (step or 0) for size, step in zip(sizes, stride))) * width


def tensor_bytes(annotation: str, symbols: Mapping[str, Number], names: Mapping[str, str]) -> TensorBytes | None:
    """The bytes of the tensor that ``annotation`` describes; None where it describes none."""
    tensor = printed_tensor(annotation)
    width = item_bytes(tensor.dtype) if tensor is not None else None
    if tensor is None or width is None:
        return None
    sizes = [read_size_expression(part) for part in tensor.size]
    shape = tuple(size_value(size, symbols) for size in sizes)
    steps = None if tensor.stride is None else [read_size_expression(part) for part in tensor.stride]
    stride = None if steps is None else tuple(size_value(step, symbols) for step in steps)
    count = storage_bytes(shape, stride if stride is None or None not in stride else None, width)
    symbolic = any(size is not None and size.names for size in sizes)
    return TensorBytes(tensor.shown, count, _formula(sizes, width, names) if symbolic else "")


def size_value(size: SizeExpression | None, symbols: Mapping[str, Number]) -> int | None:
    """The size for these values of its symbols; None where one is not known."""
    try:
        return None if size is None else int(evaluator(size)(symbols))
    except (*NO_VALUE, KeyError):
        return None


def _formula(sizes: Sequence[SizeExpression | None], width: int, names: Mapping[str, str]) -> str:
    product = number(width)
    for size in sizes:
        if size is None:
            return ""
        product = SizeExpression("*", (product, size))
    return written(summed(product), names)


def shown_bytes(count: int) -> str:
    """``512 B``, ``12.5 KiB``."""
    value, unit = float(count), 0
    while value >= 10_000 and unit < len(_UNITS) - 1 or (unit and value >= 1024 and unit < len(_UNITS) - 1):
        value, unit = value / 1024, unit + 1
    return f"{count} B" if unit == 0 else f"{value:.1f} {_UNITS[unit]}"
