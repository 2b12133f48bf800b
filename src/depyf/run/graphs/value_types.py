"""The types torch prints for the values of a graph: ``f32[2, s0*4][s0*4, 1]cpu``, ``Sym(s0)``.

Output: dtype and shape with symbols replaced by the numbers they stood for.
"""

from __future__ import annotations

import ast
import functools
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from depyf.safety.unheard import parse

_TENSOR = re.compile(
    r"^(?:(?P<wrapper>[A-Za-z]\w*)\()?(?P<dtype>[a-z]+\d+\w*)\[(?P<size>[^\]]*)\](?:\[(?P<stride>[^\]]*)\])?(?P<device>\w+(?::\d+)?)?\)?$"
)
DTYPES = {
    "f16": "float16", "f32": "float32", "f64": "float64", "bf16": "bfloat16", "i8": "int8", "i16": "int16",
    "i32": "int32", "i64": "int64", "u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64", "b8": "bool",
    "c32": "complex32", "c64": "complex64", "c128": "complex128", "f8e4m3fn": "float8_e4m3fn", "f8e5m2": "float8_e5m2",
    "f8e4m3fnuz": "float8_e4m3fnuz", "f8e5m2fnuz": "float8_e5m2fnuz",
}  # fmt: skip
_SYMBOL = re.compile(r"^Sym\((?P<expression>.*)\)$")
SYMBOL = re.compile(r"\b[suz]+\d+\b")
"""A symbol in a printed size."""
Number = int | float


@dataclass(frozen=True, slots=True)
class PrintedTensor:
    """A tensor's type with its sizes as they are printed."""

    dtype: str
    size: tuple[str, ...]
    stride: tuple[str, ...] | None
    device: str
    """"" where it is not printed."""
    wrapper: str
    """The class of a tensor that is in another one: ``Parameter``."""
    shown: str
    """``f32[2, s0]``: the type and the sizes alone."""


def printed_tensor(annotation: str) -> PrintedTensor | None:
    """The tensor type in an annotation; None where it is no tensor type."""
    match = _TENSOR.match(annotation)
    if match is None or match["dtype"] not in DTYPES:
        return None
    return PrintedTensor(
        dtype=DTYPES[match["dtype"]],
        size=_parts(match["size"]),
        stride=None if match["stride"] is None else _parts(match["stride"]),
        device=match["device"] or "",
        wrapper=match["wrapper"] or "",
        shown=f"{match['dtype']}[{match['size']}]",
    )


def printed_symbol(annotation: str) -> str | None:
    """``s0`` of ``Sym(s0)``, ``2*s0`` of ``Sym(2*s0)``; None for another type."""
    match = _SYMBOL.match(annotation)
    return match["expression"] if match is not None else None


def _parts(text: str) -> tuple[str, ...]:
    """``2*s0, Max(1, s1)``, item by item."""
    parts = text.split(",")
    if "(" in text:
        parts, depth = [""], 0
        for letter in text:
            depth += (letter == "(") - (letter == ")")
            if letter == "," and depth <= 0:
                parts.append("")
            else:
                parts[-1] += letter
    return tuple(part.strip() for part in parts if part.strip())


@dataclass(frozen=True, slots=True)
class TensorType:
    """A printed tensor type; sizes are None where a symbol in them has no known value."""

    dtype: str
    shape: tuple[int | None, ...]
    stride: tuple[int | None, ...] | None = None

    @property
    def integer(self) -> bool:
        return self.dtype.startswith(("int", "uint"))

    @property
    def floating(self) -> bool:
        return self.dtype.startswith(("float", "bfloat", "complex"))


def tensor_type(text: str, symbols: Mapping[str, Number]) -> TensorType | None:
    """The type in an annotation; None where it is no tensor's."""
    found = printed_tensor(text)
    if found is None:
        return None
    stride = None if found.stride is None else _numbers(found.stride, symbols)
    return TensorType(found.dtype, _numbers(found.size, symbols), stride)


def _numbers(parts: tuple[str, ...], symbols: Mapping[str, Number]) -> tuple[int | None, ...]:
    return tuple(None if (value := evaluate(part, symbols)) is None else int(value) for part in parts)


def evaluate(text: str, symbols: Mapping[str, Number]) -> Number | None:
    """The value of ``s77*2 + 1``; None where it is more than sums and products of known symbols."""
    try:
        return _value(_parsed(text), symbols)
    except (SyntaxError, ValueError, RecursionError, ZeroDivisionError, OverflowError):
        return None


@functools.lru_cache(4096)
def _parsed(text: str) -> ast.expr:
    return parse(text, mode="eval").body


def _value(node: ast.expr, symbols: Mapping[str, Number]) -> Number | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        return node.value
    if isinstance(node, ast.Name):
        return symbols.get(node.id)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = _value(node.operand, symbols)
        return None if value is None else -value
    if isinstance(node, ast.BinOp):
        left, right = _value(node.left, symbols), _value(node.right, symbols)
        if left is None or right is None:
            return None
        if isinstance(node.op, ast.Add):
            return left + right
        if isinstance(node.op, ast.Sub):
            return left - right
        if isinstance(node.op, ast.Mult):
            return left * right
        if isinstance(node.op, ast.FloorDiv):
            return left // right
    return None


def contiguous(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The strides of a contiguous tensor."""
    return tuple(math.prod(max(size, 1) for size in shape[i + 1 :]) for i in range(len(shape)))


def same_layout(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Whether the strides address memory as contiguous ones do.  The stride of a dimension of size 1 is ignored."""
    if 0 in shape:
        return True
    return all(one == two or size == 1 for size, one, two in zip(shape, strides, contiguous(shape)))
