"""Expressions, with the parentheses that precedence demands and no others."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any, TypeVar

from depyf.emit.layout import (
    CHAIN_CLOSE,
    CHAIN_OPEN,
    EITHER_CLOSE,
    EITHER_ELSE,
    EITHER_OPEN,
    MAYBE_CLOSE,
    MAYBE_OPEN,
    OPERATOR,
)
from depyf.emit.literals import literal, set_display
from depyf.emit.naming import is_legal
from depyf.emit.printer import (
    AND,
    ARITH,
    AWAIT,
    BITAND,
    BITOR,
    COMPARE,
    EXPRESSIONS,
    FACTOR,
    LOOSE,
    NOT,
    OR,
    POWER,
    PRIMARY,
    SHIFT,
    TERM,
    TEST,
    XOR,
    ExprPrinter,
    Printer,
)
from depyf.emit.quoting import string, unescaped
from depyf.tree.expr import (
    Attr,
    AwaitOf,
    Bin,
    BoolOf,
    CellOf,
    Cmp,
    Comp,
    Cond,
    Const,
    DictOf,
    Display,
    Expr,
    Generator,
    Invoke,
    Marker,
    Name,
    SliceOf,
    Star,
    Sub,
    Temp,
    Un,
    Walrus,
    YieldFrom,
    YieldOf,
)

_BINARY = {
    "|": BITOR,
    "^": XOR,
    "&": BITAND,
    "<<": SHIFT,
    ">>": SHIFT,
    "+": ARITH,
    "-": ARITH,
    "*": TERM,
    "/": TERM,
    "//": TERM,
    "%": TERM,
    "@": TERM,
    "**": POWER,
}

_F = TypeVar("_F", bound=ExprPrinter)


def prints(kind: type) -> Callable[[_F], _F]:
    def register(function: _F) -> _F:
        EXPRESSIONS[kind] = function
        return function

    return register


# Contexts in which more than a TEST may stand without parentheses.


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


def named(p: Printer, node: Expr) -> str:
    """Where an assignment expression needs no parentheses: tests and single arguments."""
    if isinstance(node, Walrus):
        return walrus(p, node, LOOSE)
    return outermost(p, node)


def element(p: Printer, node: Expr) -> str:
    """An element of a display: starred or not."""
    if isinstance(node, Star):
        if isinstance(node.value, Const) and type(node.value.value) is frozenset:
            shown = set_display(node.value.value)
            return f"*{shown}" if shown is not None else f"*{p.expr(node.value, BITOR)}"
        return "*" + p.expr(node.value, BITOR)
    return p.expr(node, TEST)


def iterable(p: Printer, node: Expr, level: int) -> str:
    """What ``for`` and ``in`` take: a constant set can be written as a display there."""
    if isinstance(node, Const) and type(node.value) is frozenset:
        shown = set_display(node.value)
        if shown is not None and (p.quotes is None or not ("'" in shown or '"' in shown)):
            return shown
    return p.expr(node, level)


def target(p: Printer, node: Expr, nested: bool = False) -> str:
    """The left side of an assignment; a tuple loses its parentheses unless ``nested``."""
    kind = type(node)
    if kind is Name:
        return p.store(node)  # type: ignore[arg-type]
    if isinstance(node, Temp):
        return p.temp(node.key)
    if isinstance(node, Star):
        return "*" + target(p, node.value, True)
    if isinstance(node, Display):
        items = [target(p, item, True) for item in node.elts]
        if node.kind == "list":
            return f"[{p.listed(items)}]"
        if len(items) > 1 and not nested and not p.wide:
            return ", ".join(items)
        return tuple_of(p, items)
    return p.expr(node, PRIMARY)


def tuple_of(p: Printer, items: list[str]) -> str:
    return f"({items[0]},)" if len(items) == 1 else f"({p.listed(items)})"


# Atoms.


@prints(Name)
def name(p: Printer, node: Name, level: int) -> str:
    ident = node.id
    if p.shadow and node.scope == "global":
        ident = p.shadow.get(ident, ident)
    p.reads[node.scope].add(ident)
    text = p.spell.get(ident)
    return text if text is not None else p.spelled(ident)


@prints(Const)
def const(p: Printer, node: Const, level: int) -> str:
    value = node.value
    kind = type(value)
    if kind is str:
        if p.quotes is None:
            text = string(value, p.quote)
            if p.wide and len(text) > 40 and "\n" in value[:-1]:
                return pieces(p, text, [string(line) for line in value.splitlines(True)])
            return text
        return unescaped(value, p.quotes, p.outer) or _unquotable(p, value)
    found = literal(value)
    if found is None:
        return p.bound_const(value)
    text = found
    if p.quotes is not None and ("'" in text or '"' in text or "\\" in text):
        return _requoted(p, value) or _unquotable(p, value)
    if level >= POWER and (text[0] == "-" or (level == PRIMARY and kind is int)):
        # A number before a dot needs parentheses, and so does a sign before ``**`` or a dot.
        return f"({text})"
    return text


def pieces(p: Printer, whole: str, parts: list[str]) -> str:
    """A literal that may be written as several adjacent ones, which the parser joins again."""
    return EITHER_OPEN + whole + EITHER_ELSE + OPERATOR.join(parts) + EITHER_CLOSE


def _unquotable(p: Printer, value: Any) -> str:
    """A constant for which no quotes are left inside the f-string, unless others are chosen further out."""
    if p.last_resort:
        return p.bound_const(value)
    raise NoQuotes


def _requoted(p: Printer, value: Any) -> str | None:
    """A tuple or bytes constant in the quotes allowed here."""
    assert p.quotes is not None
    if type(value) is bytes:
        text = unescaped(value.decode("latin-1"), p.quotes, p.outer) if value.isascii() else None
        return None if text is None else "b" + text
    if type(value) is not tuple:
        return None
    items = []
    for item in value:
        text = literal(item)
        if type(item) is str:
            text = unescaped(item, p.quotes, p.outer)
        elif text is not None and ("'" in text or '"' in text or "\\" in text):
            text = _requoted(p, item)
        if text is None:
            return None
        items.append(text)
    return tuple_of(p, items)


class NoQuotes(Exception):
    """No kind of quotes is left for a string inside nested f-strings (before 3.12)."""


@prints(Temp)
def temp(p: Printer, node: Temp, level: int) -> str:
    return p.temp(node.key)


@prints(CellOf)
def cell_of(p: Printer, node: CellOf, level: int) -> str:
    if p.options.cells == "closure":
        p.reads["cell"].add(node.id)
        p.scope.captured.add(node.id)
        return f"(lambda: {p.spelled(node.id)}).__closure__[0]"
    for found, cell in p.cells.items():
        if cell == node.id:
            return found
    found = p.names.fresh(f"__cell_{p.spelled(node.id)}")
    p.cells[found] = node.id
    return found


@prints(Marker)
def marker(p: Printer, node: Marker, level: int) -> str:
    if node.kind == "common" and hasattr(builtins, str(node.detail)):
        # AssertionError and the like without a look at the globals, where no ``assert`` was recognised.
        return p.bound_const(getattr(builtins, node.detail))
    raise p.fail(f"a {node.kind} slot is left in an expression")


# Attributes, items, calls.


@prints(Attr)
def attribute(p: Printer, node: Attr, level: int) -> str:
    text = p.spell.get(node.name)
    if text is None:
        text = p.spelled(node.name)
    value = node.value
    return EXPRESSIONS[type(value)](p, value, PRIMARY) + "." + text


@prints(Sub)
def subscript(p: Printer, node: Sub, level: int) -> str:
    value = node.value
    return f"{EXPRESSIONS[type(value)](p, value, PRIMARY)}[{_key(p, node.key)}]"


def _key(p: Printer, node: Expr) -> str:
    if isinstance(node, SliceOf) or (isinstance(node, Const) and type(node.value) is slice):
        return _slice(p, node)
    if isinstance(node, Display) and node.kind == "tuple" and node.elts:
        starred = any(isinstance(item, Star) for item in node.elts)
        if starred and not p.grammar.star_index:
            return tuple_of(p, [element(p, item) for item in node.elts])
        items = [_slice(p, item) if isinstance(item, SliceOf) else element(p, item) for item in node.elts]
        return f"{items[0]}," if len(items) == 1 else p.listed(items)
    if isinstance(node, Const) and type(node.value) is tuple and len(node.value) > 1:
        parts = [Const(item) for item in node.value]
        if all(type(item) is slice or literal(item) is not None for item in node.value):
            return p.listed([_slice(p, item) if type(item.value) is slice else p.expr(item) for item in parts])
    return p.inner(p.expr(node, TEST))


def _slice(p: Printer, node: Expr) -> str:
    """``lower:upper:step``; an absent bound and a written None are the same, but for the step."""
    bounds: tuple[Expr | None, Expr | None, Expr | None]
    if isinstance(node, SliceOf):
        bounds = node.lower, node.upper, node.step
    else:
        assert isinstance(node, Const)
        value = node.value
        if any(part is not None and literal(part) is None for part in (value.start, value.stop, value.step)):
            return p.bound_const(value)
        bounds = Const(value.start), Const(value.stop), None if value.step is None else Const(value.step)
    lower, upper, step = ["" if part is None or _is_none(part) else p.expr(part, TEST) for part in bounds]
    step = step or "None"  # a written None makes it a slice of three
    spaced = any(isinstance(part, (Bin, BoolOf, Cmp, Cond)) for part in bounds)
    colon = " : " if spaced else ":"
    text = (lower + colon + upper).strip(" ") if spaced else f"{lower}:{upper}"
    if bounds[2] is None:
        return text
    return f"{text}{colon}{step}".rstrip(" ") if spaced else f"{text}:{step}"


def _is_none(node: Expr) -> bool:
    return isinstance(node, Const) and node.value is None


@prints(SliceOf)
def slice_of(p: Printer, node: SliceOf, level: int) -> str:
    parts = [node.lower, node.upper] if node.step is None else [node.lower, node.upper, node.step]
    p.reads["global"].add("slice")
    return f"slice({p.listed([p.expr(part) for part in parts])})"


@prints(Invoke)
def call(p: Printer, node: Invoke, level: int) -> str:
    func = node.func
    return f"{EXPRESSIONS[type(func)](p, func, PRIMARY)}({arguments(p, node.args, node.keywords)})"


def arguments(p: Printer, args: tuple[Expr, ...], keywords: tuple[tuple[str | None, Expr], ...]) -> str:
    """The inside of the parentheses of a call or class statement."""
    if len(args) == 1 and not keywords:
        only = args[0]
        if isinstance(only, Comp) and only.kind == "generator":
            return p.inner(comprehension_text(p, only))
        if isinstance(only, Walrus):
            return walrus(p, only, LOOSE)
        if isinstance(only, Star):
            return p.listed(["*" + p.expr(only.value)])
        return p.listed([EXPRESSIONS[type(only)](p, only, TEST)])
    items = []
    for item in args:
        if isinstance(item, Star):
            items.append("*" + p.expr(item.value))
        else:
            items.append(EXPRESSIONS[type(item)](p, item, TEST))
    for key, value in keywords:
        if key is None:
            items.append("**" + p.expr(value))
        elif is_legal(key):
            items.append(f"{key}={p.expr(value)}")
        else:
            items.append(f"**{{{string(key)}: {p.expr(value)}}}")
    return p.listed(items)


# Operators.


def _wrap(p: Printer, text: str, own: int, level: int) -> str:
    """``text`` of precedence ``own`` where at least ``level`` is asked for."""
    return p.paren(text) if own < level else text


def _chain(p: Printer, text: str) -> str:
    return CHAIN_OPEN + text + CHAIN_CLOSE if p.wide else text


@prints(Bin)
def binary(p: Printer, node: Bin, level: int) -> str:
    op = node.op
    own = _BINARY.get(op)
    if own is None:
        raise p.fail(f"the in-place operator {op} is used inside an expression")
    if own == POWER:
        return _wrap(p, f"{p.expr(node.left, AWAIT)}**{p.expr(node.right, FACTOR)}", POWER, level)
    # The left spine in a loop: long sums would exhaust the recursion limit.
    parts = []
    left: Expr = node
    while isinstance(left, Bin) and _BINARY.get(left.op) == own:
        parts.append(f"{left.op} {p.expr(left.right, own + 1)}")
        left = left.left
    parts.append(p.expr(left, own))
    parts.reverse()
    return _wrap(p, _chain(p, p.operator.join(parts)), own, level)


@prints(Un)
def unary(p: Printer, node: Un, level: int) -> str:
    if node.op == "not":
        return _wrap(p, "not " + p.expr(node.operand, NOT), NOT, level)
    return _wrap(p, node.op + p.expr(node.operand, FACTOR), FACTOR, level)


@prints(Cmp)
def compare(p: Printer, node: Cmp, level: int) -> str:
    parts = [p.expr(node.left, BITOR)]
    for op, right in zip(node.ops, node.rights):
        shown = p.not_equal if op == "!=" else op
        member = op == "in" or op == "not in"
        parts.append(f"{shown} {iterable(p, right, BITOR) if member else p.expr(right, BITOR)}")
    return _wrap(p, _chain(p, p.operator.join(parts)), COMPARE, level)


@prints(BoolOf)
def boolean(p: Printer, node: BoolOf, level: int) -> str:
    own = OR if node.op == "or" else AND
    parts = [p.expr(value, own + 1) for value in node.values]
    text = f"{p.operator}{node.op} ".join(parts)
    return _wrap(p, _chain(p, text), own, level)


@prints(Cond)
def conditional(p: Printer, node: Cond, level: int) -> str:
    # A chain of else-arms in a loop, like ``elif``.
    parts = []
    rest: Expr = node
    while isinstance(rest, Cond):
        body, test = p.expr(rest.body, OR), p.expr(rest.test, OR)
        parts.append(f"{body}{p.operator}if {test}{p.operator}else ")
        rest = rest.orelse
    text = "".join(parts) + p.expr(rest, TEST)
    return _wrap(p, _chain(p, text), TEST, level) if level > TEST else _chain(p, text)


@prints(AwaitOf)
def await_of(p: Printer, node: AwaitOf, level: int) -> str:
    return _wrap(p, "await " + p.expr(node.value, PRIMARY), AWAIT, level)


@prints(YieldOf)
def yield_of(p: Printer, node: YieldOf, level: int) -> str:
    p.scope.has_yield = True
    text = "yield" if _is_none(node.value) else "yield " + bare(p, node.value)
    return _wrap(p, text, LOOSE, level)


@prints(YieldFrom)
def yield_from(p: Printer, node: YieldFrom, level: int) -> str:
    p.scope.has_yield = True
    return _wrap(p, "yield from " + p.expr(node.value), LOOSE, level)


@prints(Walrus)
def walrus(p: Printer, node: Walrus, level: int) -> str:
    value = p.expr(node.value)
    # The target belongs to the nearest block that is no comprehension.
    scope, ident = p.scope, p.shadowed(node.target)
    while scope.kind == "comp" and scope.parent is not None:
        if node.target.scope == "global":
            scope.stores["global"].add(ident)
        else:
            scope.reads["cell"].add(ident)  # a comprehension with code of its own reaches it by a cell
        scope = scope.parent
    scope.stores[node.target.scope].add(ident)
    return _wrap(p, f"{p.spelled(ident)} := {value}", LOOSE, level)


# Displays and comprehensions.


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
    element_text = p.expr(node.elt)
    if node.key is not None:
        element_text = f"{p.expr(node.key)}: {element_text}"
    shares = p.grammar.inlined_comprehensions and node.kind != "generator"
    p.scope.close(shares)
    p.leave(outer, unit)
    return p.operator.join([element_text, *clauses])


def _clause(p: Printer, node: Generator, first: str | None) -> str:
    source = iterable(p, node.iter, OR) if first is None else first
    text = f"{'async ' if node.is_async else ''}for {_for_target(p, node.target)} in {source}"
    return p.operator.join([text, *(f"if {p.expr(test, OR)}" for test in node.ifs)])


def _for_target(p: Printer, node: Expr) -> str:
    """The target of ``for``; never broken over lines."""
    wide, p.wide = p.wide, False
    try:
        return target(p, node)
    finally:
        p.wide = wide


for_target = _for_target
