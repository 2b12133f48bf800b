"""Numbers temporaries in order of appearance, or in the order of the stack slots they represent."""

from __future__ import annotations

from dataclasses import replace

from depyf.decompiler.ir.expr import Expr, Func, NestedTemp, Temp, TempKey
from depyf.decompiler.ir.stmt import Body
from depyf.decompiler.ir.walk_expr import map_expressions, walk_own


def renumber_nested(body: Body) -> Body:
    """``body``, the temporaries of the functions in it marked as theirs: they are finished."""

    def mark(expr: Expr) -> Expr:
        return NestedTemp(expr.number) if isinstance(expr, Temp) else expr

    def change(expr: Expr) -> Expr:
        if not isinstance(expr, Func):
            return expr
        inner = tuple(map_expressions(stmt, mark) for stmt in expr.body)
        return expr if all(new is old for new, old in zip(inner, expr.body)) else replace(expr, body=inner)

    return tuple(map_expressions(stmt, change) for stmt in body)


def number_temporaries(body: Body, *, by_slot: bool = False) -> Body:
    """Rename the temporaries of one function body 0, 1, 2, ...; nested functions have their own.

    ``by_slot``: those of stack slots first, lowest slot first, so that the proof finds what belongs together.
    """
    names: dict[TempKey, Temp] = {}
    for node in walk_own(body):
        if isinstance(node, Temp):
            names.setdefault(node.key, Temp(len(names)))
    if by_slot:
        names = {key: Temp(number) for number, key in enumerate(sorted(names))}
    if not names or all(key == temp.key for key, temp in names.items()):
        return body

    def change(expr: Expr) -> Expr:
        return names.get(expr.key, expr) if isinstance(expr, Temp) else expr

    return tuple(map_expressions(stmt, change) for stmt in body)
