"""Operators, with the parentheses that precedence demands and no others."""

from __future__ import annotations

from dataclasses import replace

from depyf.decompiler.emit.expressions.positions import bare, is_none, iterable
from depyf.decompiler.emit.line_breaks import (
    BREAK,
    CHAIN_CLOSE,
    CHAIN_OPEN,
    CLOSE,
    OPEN,
)
from depyf.decompiler.emit.printer import (
    AND,
    ARITH,
    AWAIT,
    BITAND,
    BITOR,
    COMPARE,
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
    Printer,
    prints,
)
from depyf.decompiler.ir.expr import (
    AwaitOf,
    Bin,
    BoolOf,
    Cmp,
    Cond,
    Expr,
    Name,
    Un,
    Walrus,
    YieldFrom,
    YieldOf,
)
from depyf.safety.depth import any_depth

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


def _wrap(p: Printer, text: str, own: int, level: int) -> str:
    """``text`` of precedence ``own``, in parentheses if that is below ``level``."""
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
    deciding, p.deciding = p.deciding, False
    if node.op == "not":
        operand = p.test(node.operand, NOT) if deciding else p.expr(node.operand, NOT)
        return _wrap(p, "not " + operand, NOT, level)
    return _wrap(p, node.op + p.expr(node.operand, FACTOR), FACTOR, level)


@prints(Cmp)
def compare(p: Printer, node: Cmp, level: int) -> str:
    parts = [p.expr(node.left, BITOR)]
    for op, right in zip(node.ops, node.rights):
        shown = p.not_equal if op == "!=" else op
        member = op == "in" or op == "not in"
        parts.append(f"{shown} {iterable(p, right, BITOR, True) if member else p.expr(right, BITOR)}")
    return _wrap(p, _chain(p, p.operator.join(parts)), COMPARE, level)


@prints(BoolOf)
def boolean(p: Printer, node: BoolOf, level: int) -> str:
    own = OR if node.op == "or" else AND
    node = _flat(node)
    deciding, p.deciding = p.deciding, False
    if p.unit.joins_tests_on_a_line and not deciding:
        text = _in_line(p, node)
        if node.apart and p.quotes is None:
            p.breaks = True
            if p.wide:
                return f"({OPEN}{BREAK}{text}{CLOSE})"
    else:
        parts = [p.test(value, own + 1) if deciding else p.expr(value, own + 1) for value in node.values]
        text = f"{p.operator}{node.op} ".join(parts)
    return _wrap(p, _chain(p, text), own, level)


@any_depth
def _in_line(p: Printer, node: BoolOf, tested: bool = False) -> str:
    """``a and (b or c) or d`` where tests are joined on a line: operands that are such themselves must start on the
    first.

    So must those in the arms of a conditional expression.  The last operand need not, unless the value of ``node`` is
    ``tested``.
    """
    own = OR if node.op == "or" else AND
    node = _flat(node)
    checked = node.values if tested else node.values[:-1]
    last = max((i for i, value in enumerate(checked) if i and _joined(value)), default=0)
    text = ""
    for i, value in enumerate(node.values):
        wide, operator = p.wide, p.operator
        if i < last or i < len(checked) and isinstance(value, Cond) and _joined(value):
            p.wide, p.operator = False, " "
        if isinstance(value, BoolOf) and not value.apart and i < len(checked):
            item = _chain(p, _in_line(p, value, True))
            item = f"({item})" if own == AND or value.op == "or" else item
        else:
            item = p.expr(value, own + 1)
        p.wide, p.operator = wide, operator
        text += f"{' ' if i <= last else operator}{node.op} {item}" if i else item
    return text


@any_depth
def _flat(node: BoolOf) -> BoolOf:
    """``node`` with the operands of nested nodes of the same operator that are separate only because they are on a line
    below."""
    if not any(isinstance(value, BoolOf) and value.below and value.op == node.op for value in node.values):
        return node
    values: list[Expr] = []
    for value in node.values:
        below = isinstance(value, BoolOf) and value.below and value.op == node.op
        values.extend(_flat(value).values if below and isinstance(value, BoolOf) else (value,))
    return replace(node, values=tuple(values))


@any_depth
def _joined(value: Expr) -> bool:
    """Whether an operand has tests that are joined with that of its value."""
    if isinstance(value, Cond):
        return _joined(value.body) or _joined(value.orelse)
    return isinstance(value, BoolOf) and not value.apart


@prints(Cond)
def conditional(p: Printer, node: Cond, level: int) -> str:
    # A chain of else-arms in a loop, like ``elif``.
    parts = []
    rest: Expr = node
    while isinstance(rest, Cond):
        body, test = p.expr(rest.body, OR), p.test(rest.test, OR)
        parts.append(f"{body}{p.operator}if {test}{p.operator}else ")
        rest = rest.orelse
    text = "".join(parts) + p.expr(rest, TEST)
    return _wrap(p, _chain(p, text), TEST, level) if level > TEST else _chain(p, text)


@prints(AwaitOf)
def await_of(p: Printer, node: AwaitOf, level: int) -> str:
    p.scope.has_await = True
    return _wrap(p, "await " + p.expr(node.value, PRIMARY), AWAIT, level)


@prints(YieldOf)
def yield_of(p: Printer, node: YieldOf, level: int) -> str:
    p.scope.has_yield = True
    text = "yield" if is_none(node.value) else "yield " + bare(p, node.value)
    return _wrap(p, text, LOOSE, level)


@prints(YieldFrom)
def yield_from(p: Printer, node: YieldFrom, level: int) -> str:
    p.scope.has_yield = True
    return _wrap(p, "yield from " + p.expr(node.value), LOOSE, level)


@prints(Walrus)
def walrus(p: Printer, node: Walrus, level: int) -> str:
    value = p.expr(node.value)
    assert isinstance(node.target, Name)  # variables of the program are temporaries while they are renumbered only
    # The target belongs to the nearest block that is no comprehension.
    scope, ident = p.scope, p.shadowed(node.target)
    while scope.kind == "comp" and scope.parent is not None:
        if node.target.scope == "global":
            scope.stores["global"].add(ident)
        else:
            scope.reads["cell"].add(ident)  # a comprehension that is nested code reaches it by a cell
        scope = scope.parent
    scope.stores[node.target.scope].add(ident)
    return _wrap(p, f"{p.spelled(ident)} := {value}", LOOSE, level)
