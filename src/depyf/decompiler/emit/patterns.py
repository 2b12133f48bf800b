"""The patterns of ``match``."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from depyf.decompiler.bytecode.variables.spelling import exact
from depyf.decompiler.emit.expressions.literals import literal
from depyf.decompiler.emit.printer import BITOR, PRIMARY, Printer
from depyf.decompiler.ir.expr import Const, Expr
from depyf.decompiler.ir.stmt import (
    MatchAs,
    MatchClass,
    MatchMapping,
    MatchOr,
    MatchSequence,
    MatchStar,
    MatchValue,
    Pattern,
)
from depyf.safety.depth import any_depth


@any_depth
def pattern(p: Printer, node: Pattern, closed: bool = False) -> str:
    """``closed`` asks for parentheses around ``as`` and ``|``."""
    return _PATTERNS[type(node)](p, node, closed)


def _value(p: Printer, node: MatchValue, closed: bool) -> str:
    return _number(p, node.value)


def _number(p: Printer, value: Expr) -> str:
    """A literal or a dotted name; the grammar of patterns takes no parentheses inside a number."""
    if not isinstance(value, Const) or type(value.value) is not complex:
        return p.expr(value, BITOR)
    real, imag = value.value.real, value.value.imag
    minus = math.copysign(1.0, imag) < 0
    shown = literal(abs(imag))
    assert shown is not None
    high = f"{shown.removesuffix('.0')}j"
    if real == 0 and (math.copysign(1.0, real) < 0) == minus:
        return f"-{high}" if minus else high
    if not p.grammar.mixed_complex and imag == 0:
        minus = real == 0  # only -0.0 - 0j has this real part
    low = literal(real)
    assert low is not None
    return f"{low if low == '-0.0' else low.removesuffix('.0')} {'-' if minus else '+'} {high}"


def _as(p: Printer, node: MatchAs, closed: bool) -> str:
    if node.pattern is None:
        return "_" if node.name is None else p.bind(node.name)
    inner = pattern(p, node.pattern, isinstance(node.pattern, MatchAs))
    text = f"{inner} as {p.bind(node.name or '_')}"
    return p.paren(text) if closed else text


def _star(p: Printer, node: MatchStar, closed: bool) -> str:
    return "*_" if node.name is None else "*" + p.bind(node.name)


def _sequence(p: Printer, node: MatchSequence, closed: bool) -> str:
    return f"[{p.listed([pattern(p, item) for item in node.patterns])}]"


def _mapping(p: Printer, node: MatchMapping, closed: bool) -> str:
    items = [f"{_number(p, key)}: {pattern(p, item)}" for key, item in zip(node.keys, node.patterns)]
    if node.rest is not None:
        items.append("**" + p.bind(node.rest))
    return f"{{{p.listed(items)}}}"


def _class(p: Printer, node: MatchClass, closed: bool) -> str:
    if p.whole and any(exact(name) is None for name, _ in node.keywords):
        # A live function gets the name afterwards, and its text says so.
        raise p.fail("no pattern asks for an attribute whose name is no identifier")
    items = [pattern(p, item) for item in node.patterns]
    items += [f"{p.spelled(name)}={pattern(p, item)}" for name, item in node.keywords]
    return f"{p.expr(node.cls, PRIMARY)}({p.listed(items)})"


def _or(p: Printer, node: MatchOr, closed: bool) -> str:
    text = f"{p.operator}| ".join([pattern(p, item, True) for item in node.patterns])
    return p.paren(text) if closed or p.wide else text


_PATTERNS: dict[type, Callable[[Printer, Any, bool], str]] = {
    MatchValue: _value,
    MatchAs: _as,
    MatchStar: _star,
    MatchSequence: _sequence,
    MatchMapping: _mapping,
    MatchClass: _class,
    MatchOr: _or,
}
