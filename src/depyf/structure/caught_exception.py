"""A name for the caught exception, where it is used as an ordinary value (plain lifting).

Marker("exc", region) in the body of the handler    ->    except BaseException as __temp_0:   and   __temp_0
"""

from __future__ import annotations

from depyf.ir.expr import Const, Expr, Marker, Purpose, Temp
from depyf.ir.stmt import Assign, Body, Delete, Stmt
from depyf.ir.transformer import Transformer
from depyf.ir.walk_expr import map_expressions, walk_all


def named_exception(body: Body, region: int) -> tuple[Body, Temp | None]:
    """The body of a handler with a temporary for what it caught, and that temporary; None where it is not used."""
    temp = Temp(region, Purpose.CAUGHT)

    def change(expr: Expr) -> Expr:
        caught = isinstance(expr, Marker) and expr.kind == "exc" and expr.detail == region
        return temp if caught else expr

    kept = _WithoutDeletions(region).run(body)
    if map_expressions(kept, change) is kept:
        return kept, None  # nothing but deletions of it
    return map_expressions(body, change), temp


class _WithoutDeletions(Transformer):
    def __init__(self, region: int) -> None:
        self.region = region

    def leave(self, stmt: Stmt, done: list[Stmt]) -> None:
        forgets = isinstance(stmt, Delete) or isinstance(stmt, Assign) and isinstance(stmt.value, Const)
        target = stmt.targets[0] if forgets and isinstance(stmt, (Delete, Assign)) else None
        if not (isinstance(target, Marker) and target.kind == "exc" and target.detail == self.region):
            done.append(stmt)


def mentions(body: Body, temp: Temp) -> bool:
    """Whether a temporary occurs anywhere in ``body``."""
    return any(isinstance(node, Temp) and node.key == temp.key for node in walk_all(body))
