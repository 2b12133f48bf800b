"""What ``reading`` knows at one point of the execution: names, and containers that nobody else has seen."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field


class Unknown(Exception):
    """The code has a shape that the reader does not follow."""


@dataclass
class Fresh:
    """A list or tuple made here that nobody else has seen; ``name`` is set once somebody has."""

    kind: type[ast.List] | type[ast.Tuple]
    items: list[Value]
    name: ast.expr | None = None


Value = ast.expr | Fresh
"""An expression without effects (a name, a constant, ``graph_out[0]``), or a container."""


@dataclass
class State:
    """What is known at one point of the execution."""

    names: dict[str, Value]
    out: list[ast.stmt] = field(default_factory=list)


def constant_index(index: ast.expr) -> int | slice | None:
    """A constant index or slice; None for any other."""

    def number(part: ast.expr | None) -> int | None:
        if part is None:
            return None
        found = ast.literal_eval(part)
        if found is not None and not isinstance(found, int):
            raise Unknown
        return found

    try:
        if isinstance(index, ast.Slice):
            return slice(number(index.lower), number(index.upper), number(index.step))
        return number(index)
    except ValueError:
        return None
