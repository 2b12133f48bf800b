"""The positions of expressions: what may be written there without parentheses.

An assignment's right side takes a bare tuple, a test takes a bare ``:=``, ``in`` takes a set display, and so on.
"""

from __future__ import annotations

from typing import Any

from depyf.decompiler.bytecode.variables.spelling import read_back
from depyf.decompiler.emit.expressions.literals import literal, set_display
from depyf.decompiler.emit.expressions.quoting import NoQuotes, unescaped
from depyf.decompiler.emit.line_breaks import EITHER_OPEN, ITEM, MAYBE_CLOSE, MAYBE_OPEN
from depyf.decompiler.emit.printer import BITOR, EXPRESSIONS, LOOSE, PRIMARY, TEST, Printer
from depyf.decompiler.ir.expr import (
    Attr,
    Bin,
    BoolOf,
    Cmp,
    Cond,
    Const,
    Display,
    Expr,
    Name,
    NestedTemp,
    Star,
    Temp,
    Un,
    Walrus,
    YieldFrom,
    YieldOf,
)
from depyf.safety.depth import any_depth


def loose(p: Printer, node: Expr, star: bool = True) -> str:
    """The right-hand side of an assignment and the like: a tuple or ``yield`` needs no parentheses.

    ``star`` is false where the target's grammar takes no star in such a tuple.
    """
    kind = type(node)
    if kind is Display or kind is Const:
        return bare(p, node, star)
    if kind is YieldOf or kind is YieldFrom:
        return EXPRESSIONS[kind](p, node, LOOSE)
    return outermost(p, node)


def bare(p: Printer, node: Expr, star: bool = True) -> str:
    """As ``loose`` where ``yield`` keeps its parentheses."""
    if isinstance(node, Display) and node.kind == "tuple" and len(node.elts) > 1 and not p.wide:
        if star or not any(isinstance(item, Star) for item in node.elts):
            return ", ".join([element(p, item) for item in node.elts])
    elif isinstance(node, Const) and type(node.value) is tuple and len(node.value) > 1 and not p.wide:
        text = literal(node.value)
        if text is not None:
            return text[1:-1]
    return outermost(p, node)


def outermost(p: Printer, node: Expr) -> str:
    """An expression that ends its line: operators may be broken inside parentheses added for that."""
    text = p.expr(node, TEST)
    if p.wide and (isinstance(node, (Bin, BoolOf, Cmp, Cond, Un)) or text[0] == EITHER_OPEN) and text[0] != "(":
        return MAYBE_OPEN + text + MAYBE_CLOSE
    return text


def decision(p: Printer, node: Expr) -> str:
    """The test of a statement."""
    p.decide(node)
    return named(p, node)


def named(p: Printer, node: Expr) -> str:
    """Where an assignment expression needs no parentheses: tests and single arguments."""
    if isinstance(node, Walrus):
        return EXPRESSIONS[Walrus](p, node, LOOSE)
    return outermost(p, node)


def element(p: Printer, node: Expr) -> str:
    """An element of a display: starred or not."""
    if isinstance(node, Star):
        if isinstance(node.value, Const) and type(node.value.value) is frozenset:
            shown = _set_display(p, node.value.value)
            return f"*{shown}" if shown is not None else f"*{p.expr(node.value, BITOR)}"
        return "*" + p.expr(node.value, BITOR)
    return p.expr(node, TEST)


def iterable(p: Printer, node: Expr, level: int, member: bool = False) -> str:
    """What ``for`` and ``in`` (``member``) take: a constant set can be written as a display there."""
    if isinstance(node, Const) and type(node.value) is frozenset:
        shown = _set_display(p, node.value, member)
        if shown is not None:
            return shown
    return p.expr(node, level)


def _set_display(p: Printer, value: frozenset[Any], member: bool = False) -> str | None:
    if p.quotes is None:
        return set_display(value, p.unit, member)
    shown = set_display(value, p.unit, member, lambda item: in_field(p, item))
    if shown is None and not p.last_resort and set_display(value, p.unit, member) is not None:
        raise NoQuotes
    return shown


@any_depth
def target(p: Printer, node: Expr, nested: bool = False) -> str:
    """The left side of an assignment; a tuple loses its parentheses unless ``nested``."""
    kind = type(node)
    if kind is Name:
        return p.store(node)  # type: ignore[arg-type]
    if isinstance(node, (Temp, NestedTemp)):
        return p.temp(node.suffix)
    if isinstance(node, Star):
        return "*" + target(p, node.value, True)
    if isinstance(node, Display):
        items = [target(p, item, True) for item in node.elts]
        if node.kind == "list":
            return f"[{p.listed(items)}]"
        if len(items) > 1 and not nested:
            return f"{MAYBE_OPEN}{f',{ITEM}'.join(items)}{MAYBE_CLOSE}" if p.wide else ", ".join(items)
        return tuple_of(p, items)
    if isinstance(node, Attr):
        return _attribute(p, node)
    return p.expr(node, PRIMARY)


def _attribute(p: Printer, node: Attr) -> str:
    """An attribute that is assigned: a class notes those of the name ``self``, and only what the original noted."""
    text = p.expr(node, PRIMARY)
    owner = p.scope.noting_class() if text.startswith("self.") and isinstance(node.value, Name) else None
    if owner is None or owner.listed is None:
        return text
    name = read_back(text[len("self.") :])
    if name in owner.listed:
        owner.noted.add(name)
        return text
    return "(self if 1 else 0)" + text[len("self") :]


def touched(p: Printer, node: Expr) -> str:
    """As ``target`` where no class notes it: ``+=``, ``del``, an annotation without a value."""
    return p.expr(node, PRIMARY) if isinstance(node, Attr) else target(p, node, True)


def tuple_of(p: Printer, items: list[str]) -> str:
    return f"({items[0]},)" if len(items) == 1 else f"({p.listed(items)})"


def is_none(node: Expr) -> bool:
    return isinstance(node, Const) and node.value is None


@any_depth
def _requoted(p: Printer, value: Any) -> str | None:
    """A tuple or bytes constant in the quotes allowed here."""
    assert p.quotes is not None
    if type(value) is bytes:
        return unescaped(value.decode("latin-1"), p.quotes, p.outer, "b") if value.isascii() else None
    if type(value) is not tuple:
        return None
    items = [in_field(p, item) for item in value]
    return None if None in items else tuple_of(p, [item for item in items if item is not None])


def in_field(p: Printer, value: Any) -> str | None:
    """A constant between the braces of an f-string (before 3.12); None where there is no such literal."""
    assert p.quotes is not None
    if type(value) is str:
        return unescaped(value, p.quotes, p.outer)
    text = literal(value)
    return _requoted(p, value) if text is not None and ("'" in text or '"' in text or "\\" in text) else text
