"""Displays and comprehensions."""

from __future__ import annotations

from depyf.emit.contexts import element, iterable, target, tuple_of
from depyf.emit.printer import BITOR, OR, Printer, prints
from depyf.tree.expr import Comp, DictOf, Display, Expr, Generator, Star


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
    if node.kind != "dict":
        element_text = p.expr(node.elt)
    elif node.key is None:
        element_text = "**" + p.expr(node.elt, BITOR)
    else:
        element_text = f"{p.expr(node.key)}: {p.expr(node.elt)}"
    shares = p.grammar.inlined_comprehensions and node.kind != "generator"
    p.scope.close(shares)
    p.leave(outer, unit)
    return p.operator.join([element_text, *clauses])


def _clause(p: Printer, node: Generator, first: str | None) -> str:
    source = iterable(p, node.iter, OR) if first is None else first
    text = f"{'async ' if node.is_async else ''}for {for_target(p, node.target)} in {source}"
    return p.operator.join([text, *(f"if {p.test(test, OR)}" for test in node.ifs)])


def for_target(p: Printer, node: Expr) -> str:
    """The target of ``for``; never broken over lines."""
    wide, p.wide = p.wide, False
    try:
        return target(p, node)
    finally:
        p.wide = wide
