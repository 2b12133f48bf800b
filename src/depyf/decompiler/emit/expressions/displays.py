"""Displays and comprehensions."""

from __future__ import annotations

from depyf.decompiler.emit.expressions.dead_arms import arm_of_comprehension, cell_targets, is_never_reached
from depyf.decompiler.emit.expressions.positions import element, iterable, target, tuple_of
from depyf.decompiler.emit.printer import BITOR, OR, Printer, prints
from depyf.decompiler.ir.expr import Comp, DictOf, Display, Expr, Generator, Star


@prints(Star)
def star(p: Printer, node: Star, level: int) -> str:
    return "*" + p.expr(node.value, BITOR)


@prints(Display)
def display(p: Printer, node: Display, level: int) -> str:
    items = [element(p, item) for item in node.elts]
    if node.kind == "list":
        return f"[{p.listed(items)}]"
    if node.kind == "tuple":
        return tuple_of(p, items)
    return f"{{{p.listed(items)}}}" if items else "{*()}"


@prints(DictOf)
def dictionary(p: Printer, node: DictOf, level: int) -> str:
    items = []
    for key, value in node.items:
        if key is None:
            items.append("**" + p.expr(value, BITOR))
        else:
            items.append(f"{p.expr(key)}: {p.expr(value)}")
    return f"{{{p.listed(items)}}}"


@prints(Comp)
def comprehension(p: Printer, node: Comp, level: int) -> str:
    text = p.inner(comprehension_text(p, node))
    if node.kind == "list":
        return f"[{text}]"
    return f"({text})" if node.kind == "generator" else f"{{{text}}}"


def comprehension_text(p: Printer, node: Comp) -> str:
    """The inside of a comprehension; its first iterable is evaluated in the scope around it."""
    first = iterable(p, node.generators[0].iter, OR)
    unit = p.unit
    outer = p.enter("comp", None)
    clauses = [_clause(p, clause, None if index else first) for index, clause in enumerate(node.generators)]
    element_text = _element(p, node)
    arm, unreached = arm_of_comprehension(p, node)
    clauses += unreached
    if arm:
        element_text = _element(p, node, arm)
    shares = p.grammar.inlined_comprehensions and node.kind != "generator"
    if shares:
        outer.comp_cells |= cell_targets(node) | p.scope.comp_cells
        outer.comp_bound |= p.scope.bound | p.scope.comp_bound
    if node.kind != "generator":
        outer.has_await |= p.scope.has_await
    p.scope.close(shares)
    p.leave(outer, unit)
    return p.operator.join([element_text, *clauses])


def _element(p: Printer, node: Comp, arm: str = "") -> str:
    """The element; ``arm`` is evaluated in place of it, which never happens."""
    if arm and is_never_reached(node):
        return f"{arm}: None" if node.kind == "dict" else arm
    if node.kind != "dict":
        if isinstance(node.elt, Star) and arm:
            return f"*({p.expr(node.elt.value, OR)} if 1 else {arm})"
        return f"{p.expr(node.elt, OR)} if 1 else {arm}" if arm else p.expr(node.elt)
    if node.key is None:
        return f"**({p.expr(node.elt, OR)} if 1 else {arm})" if arm else "**" + p.expr(node.elt, BITOR)
    value = f"{p.expr(node.elt, OR)} if 1 else {arm}" if arm else p.expr(node.elt)
    return f"{p.expr(node.key)}: {value}"


def _clause(p: Printer, node: Generator, first: str | None) -> str:
    source = iterable(p, node.iter, OR) if first is None else first
    if node.is_async:
        p.scope.has_await = True
    text = f"{'async ' if node.is_async else ''}for {for_target(p, node.target)} in {source}"
    return p.operator.join([text, *(f"if {p.test(test, OR)}" for test in node.ifs)])


def for_target(p: Printer, node: Expr) -> str:
    """The target of ``for``; never broken over lines."""
    wide, p.wide = p.wide, False
    try:
        return target(p, node)
    finally:
        p.wide = wide
