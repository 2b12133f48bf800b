"""Whether two runs of a program returned the same from their compiled functions.

Input: what ``actions/doctor/returned.py`` recorded in each run.  Output: "" where they are the same within the
tolerance of their dtypes, else the first difference in words.
"""

from __future__ import annotations

import math
from typing import Any

_TOLERANCE = {"float64": 1e-6, "complex128": 1e-6, "float32": 1e-3, "complex64": 1e-3}
_COARSE = 5e-2
"""Of floats that are shorter."""
Call = list[Any]
"""The leaves of what one call returned."""


def first_difference(
    one: dict[str, list[Call]],
    other: dict[str, list[Call]],
    numbers: bool = False,
    mended: bool = False,
    more: bool = False,
) -> str:
    """The first difference between the calls of two runs, by function name; "" for none.  ``numbers``: a tensor without
    dimensions equals its number.  ``mended``: a call that torch refused to compile may now return.  ``more``: a call
    may return further values after these."""
    for name in sorted({*one, *other}):
        calls, others = one.get(name, []), other.get(name, [])
        for number, (call, changed) in enumerate(zip(calls, others), 1):
            if mended and any(map(_refused, call)) and not any(map(_failed, changed)):
                continue
            found = first_other_leaf(call, changed[: len(call)] if more else changed, numbers)
            if found:
                return f"{name}, call {number}: {found}"
        if len(calls) != len(others):
            return f"{name} was called {len(others)} times instead of {len(calls)}"
    return ""


Calls = dict[str, list[Call]]


def until_an_error(calls: Calls, others: Calls) -> tuple[Calls, Calls]:
    """For each function, the calls of both runs before the first failed call in ``calls``."""
    counts = {
        name: next((n for n, call in enumerate(made) if any(map(_failed, call))), len(made))
        for name, made in calls.items()
    }
    first, second = ({name: made.get(name, [])[:count] for name, count in counts.items()} for made in (calls, others))
    return first, second


def _failed(leaf: Any) -> bool:
    return isinstance(leaf, dict) and "error" in leaf


def _refused(leaf: Any) -> bool:
    return isinstance(leaf, dict) and bool(leaf.get("compiler"))


def first_other_leaf(call: Call, other: Call, numbers: bool = False) -> str:
    """The first difference between two calls or two values; "" for none."""
    if len(call) != len(other):
        return f"{len(other)} values instead of {len(call)}"
    return next((found for leaf, changed in zip(call, other) if (found := _of_leaf(leaf, changed, numbers))), "")


def _number_in(leaf: Any) -> Any:
    """The number of a tensor without dimensions."""
    if isinstance(leaf, dict) and leaf.get("shape") == [] and leaf.get("values"):
        return leaf["values"][0]
    return leaf


def _of_leaf(leaf: Any, other: Any, numbers: bool) -> str:
    if numbers and isinstance(leaf, dict) != isinstance(other, dict):
        number, changed = _number_in(leaf), _number_in(other)
        if _near(number, changed, _TOLERANCE["float32"], 0.0):
            return ""
    if not isinstance(leaf, dict) or not isinstance(other, dict):
        return "" if leaf == other or _near(leaf, other, 1e-6, 0.0) else f"{other!r} instead of {leaf!r}"
    for part in ("error", "shape", "dtype", "requires_grad"):
        if leaf.get(part) != other.get(part):
            return f"{part} {other.get(part)} instead of {leaf.get(part)}"
    dtype = str(leaf.get("dtype"))
    exact = not dtype.startswith(("float", "bfloat", "complex"))
    tolerance = 0.0 if exact else _TOLERANCE.get(dtype, _COARSE)
    values, others = leaf.get("values", []), other.get("values", [])
    scale = max((abs(v) for v in values if isinstance(v, (int, float)) and math.isfinite(v)), default=0.0)
    for value, changed in zip(values, others):
        if not _near(value, changed, tolerance, scale):
            return f"{changed!r} instead of {value!r}"
    return ""


def _near(one: Any, other: Any, tolerance: float, scale: float) -> bool:
    """``scale``: how large the values beside it are; a sum of large ones that cancel is not exact."""
    if not isinstance(one, (int, float)) or not isinstance(other, (int, float)):
        return bool(one == other)
    if math.isnan(one) or math.isnan(other):
        return math.isnan(one) and math.isnan(other)
    if math.isinf(one) or math.isinf(other):
        return one == other
    return abs(one - other) <= tolerance * max(abs(one), abs(other), scale)
