"""The exception that a handler caught, where a program uses it as a value like any other (plain lifting).

Marker("exc", region) in the body of the handler    ->    except BaseException as __temp_0:   and   __temp_0
"""

from __future__ import annotations

from depyf.structure.items import EXCEPTIONS
from depyf.tree.expr import Expr, Marker, Temp
from depyf.tree.exprs import children, map_expressions
from depyf.tree.nodes import Body


def named_exception(body: Body, region: int) -> tuple[Body, Temp | None]:
    """The body of a handler with a temporary for what it caught, and that temporary; None where it is not used."""
    temp = Temp(EXCEPTIONS + region)

    def change(expr: Expr) -> Expr:
        caught = isinstance(expr, Marker) and expr.kind == "exc" and expr.detail == region
        return temp if caught else expr

    new: Body = map_expressions(body, change)
    return new, None if new is body else temp


def mentions(body: Body, temp: Temp) -> bool:
    """Whether a temporary occurs anywhere in ``body``."""
    work: list[object] = list(body)
    while work:
        node = work.pop()
        if isinstance(node, Temp) and node.key == temp.key:
            return True
        work.extend(children(node))
    return False
