"""A name for the caught exception, where it is used as an ordinary value (plain lifting).

Marker("exc", region) in the body of the handler    ->    except BaseException as __temp_0:   and   __temp_0
"""

from __future__ import annotations

from depyf.ir.expr import Const, Expr, Marker, Purpose, Temp
from depyf.ir.stmt import Assign, Body, Delete, Stmt
from depyf.ir.walk_expr import children, map_expressions
from depyf.ir.walk_stmt import bodies, with_bodies
from depyf.safety.depth import any_depth


def named_exception(body: Body, region: int) -> tuple[Body, Temp | None]:
    """The body of a handler with a temporary for what it caught, and that temporary; None where it is not used."""
    temp = Temp(region, Purpose.CAUGHT)

    def change(expr: Expr) -> Expr:
        caught = isinstance(expr, Marker) and expr.kind == "exc" and expr.detail == region
        return temp if caught else expr

    kept = _without_deletions(body, region)
    if map_expressions(kept, change) is kept:
        return kept, None  # nothing but deletions of it
    return map_expressions(body, change), temp


def _without_deletions(body: Body, region: int) -> Body:
    @any_depth
    def change(inner: Body) -> Body:
        kept = tuple(with_bodies(stmt, change) if bodies(stmt) else stmt for stmt in inner if not drops(stmt))
        return inner if len(kept) == len(inner) and all(a is b for a, b in zip(inner, kept, strict=True)) else kept

    def drops(stmt: Stmt) -> bool:
        forgets = isinstance(stmt, Delete) or isinstance(stmt, Assign) and isinstance(stmt.value, Const)
        target = stmt.targets[0] if forgets and isinstance(stmt, (Delete, Assign)) else None
        return isinstance(target, Marker) and target.kind == "exc" and target.detail == region

    return change(body)


def mentions(body: Body, temp: Temp) -> bool:
    """Whether a temporary occurs anywhere in ``body``."""
    work: list[object] = list(body)
    while work:
        node = work.pop()
        if isinstance(node, Temp) and node.key == temp.key:
            return True
        work.extend(children(node))
    return False
