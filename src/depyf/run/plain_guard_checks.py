"""Checks of guard expressions that are complete as Python and need no torch.

``depyf.sources.live.guards.check_functions`` has them for this process; ``depyf export`` copies those that a package
calls from this text.
"""

from __future__ import annotations

import ast
import copy
import dataclasses
import operator
from typing import Any


def is_nan(value: Any) -> bool:
    """``value``, a float or complex number, is NaN."""
    return bool(value != value)


def iterator_length(iterator: Any) -> int:
    """How many items this iterator over a tuple still has."""
    return operator.length_hint(iterator)


def iterator_item(iterator: Any, index: int) -> Any:
    """The item that this iterator over a tuple would give after ``index`` others; the iterator is not advanced."""
    return list(copy.copy(iterator))[index]


def reversed_length(iterator: Any) -> int:
    """How many items this ``reversed`` list still gives; -1 where it is none."""
    return operator.length_hint(iterator) if type(iterator) is type(reversed([])) else -1


def reversed_list(iterator: Any) -> Any:
    """The list that this ``reversed`` goes through; an empty one at its end."""
    return iterator.__reduce__()[1][0]


def iterator_range(iterator: Any) -> tuple[int, int, int]:
    """What is left of this iterator over a range: (start, stop, step)."""
    _, (numbers,), *advanced = iterator.__reduce__()
    return numbers.start + ((advanced[0] if advanced else 0) or 0) * numbers.step, numbers.stop, numbers.step


def iterator_count(iterator: Any) -> tuple[Any, Any]:
    """(next, step) of an ``itertools.count``."""
    start, _, step = repr(iterator).removeprefix("count(").removesuffix(")").partition(", ")
    return ast.literal_eval(start), ast.literal_eval(step or "1")


def dataclass_fields(cls: Any) -> tuple[Any, ...]:
    """``dataclasses.fields(cls)``"""
    return dataclasses.fields(cls)
