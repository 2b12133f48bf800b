"""Constants as literal text with exactly the same value; None where Python has no literal for the value.

Only exact built-in types count: an ``IntEnum`` member or a ``float`` subclass is an object, not a literal.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterator
from typing import Any

from depyf.decompiler.bytecode.codeunit import CodeUnit, units
from depyf.decompiler.bytecode.tables.set_order import filling_order, is_ordered
from depyf.decompiler.emit.expressions.quoting import data, string
from depyf.safety.depth import any_depth

_HUGE = 1 << 4000
"""Above this, decimal conversion is slow and refused by newer interpreters; hexadecimal is neither."""


def literal(value: Any) -> str | None:
    """The literal for ``value``; a tuple has its parentheses, a negative number does not."""
    kind = type(value)
    if kind is str:
        return string(value)
    if kind is int:
        return repr(value) if -_HUGE < value < _HUGE else hex(value)
    if value is None or value is True or value is False:
        return repr(value)
    if kind is tuple:
        return _tuple(value)
    if kind is float:
        return _float(value)
    if kind is bytes:
        return data(value)
    if value is Ellipsis:
        return "..."
    if kind is complex:
        return _complex(value)
    return None


def set_display(
    value: frozenset[Any], unit: CodeUnit, member: bool = False, spell: Callable[[Any], str | None] = literal
) -> str | None:
    """``{...}`` for a constant set, which is what ``in {...}`` and ``for x in {...}`` compile to; None where there is
    none that makes a set of that order, and a live object can be put there; ``in`` (``member``) does not ask for the
    order. ``spell`` writes its items."""
    order = filled_in_order(value, unit.fills_sets_twice)
    if order is None and (member or unit.live is None):
        order = in_order(value)
    items = [spell(item) for item in order or ()]
    if not items or None in items:
        return None
    return "{" + ", ".join(item for item in items if item is not None) + "}"


def in_order(value: frozenset[Any]) -> list[Any]:
    """The items of a constant set in an order that is the same in every process.

    Sets of numbers iterate alike everywhere: they stay as they are.  Text hashes by a seed of the process: it is
    sorted.
    """
    if is_ordered(value):
        return list(value)
    return sorted(value, key=lambda item: literal(item) or repr(item))


def sets_without_order(unit: CodeUnit) -> Iterator[frozenset[Any]]:
    """The constant sets of ``unit``, and of what is nested in it, that no display makes."""
    for inner in units(unit):
        for const in inner.consts:
            if type(const) is frozenset and filled_in_order(const, unit.fills_sets_twice) is None:
                yield const


def filled_in_order(value: frozenset[Any], twice: bool) -> list[Any] | None:
    """The items in an order that makes a set which iterates as ``value`` when a new set is filled with them; None if
    none is found."""
    return filling_order(list(value), twice) if is_ordered(value) else in_order(value)


@any_depth
def _tuple(value: tuple[Any, ...]) -> str | None:
    items = []
    for item in value:
        text = literal(item)
        if text is None:
            return None
        items.append(text)
    return f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})"


def _float(value: float) -> str | None:
    if math.isnan(value):
        return _nan(value)
    if math.isinf(value):
        return "1e309" if value > 0 else "-1e309"
    return repr(value)


def _nan(value: float) -> str | None:
    """What the compiler folds to exactly these bits; the sign of ``inf - inf`` is the processor's choice."""
    infinity = math.inf
    made = infinity - infinity
    for text, other in (("(1e309 - 1e309)", made), ("-(1e309 - 1e309)", -made)):
        if struct.pack("<d", value) == struct.pack("<d", other):
            return text
    return None


def _complex(value: complex) -> str | None:
    """A form that folds to exactly this value under the complex arithmetic of every version.

    Before 3.14 the real operand of ``+`` and ``-`` becomes a complex number with an imaginary part of ``+0.0`` first.
    """
    real, imag = value.real, value.imag
    high = None if math.isnan(imag) else _float(abs(imag))
    low = _float(real)
    if low is None or high is None:
        return None
    low, high = low.removesuffix(".0"), high.removesuffix(".0")
    minus_zero = real == 0 and math.copysign(1.0, real) < 0
    if math.copysign(1.0, imag) < 0:
        if real == 0 and imag == 0:
            return "-0j" if minus_zero else "-(0j * (-1 + 0j))"
        if real == 0:
            return f"-{high}j" if minus_zero else f"(0 - {high}j)"
        return f"({low} - {high}j)" if imag else f"-({_opposite(low)} + 0j)"
    if real == 0 and not minus_zero:
        return f"{high}j"
    if real == 0:
        return f"-(0 - {high}j)" if imag else "(0j * (-1 + 0j))"
    return f"({low} + {high}j)"


def _opposite(number: str) -> str:
    return number[1:] if number[0] == "-" else f"-{number}"
