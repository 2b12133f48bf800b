"""Expressions without operands: names, constants, temporaries, cells."""

from __future__ import annotations

import builtins
from typing import Any

from depyf.decompiler.emit.expressions.literals import literal
from depyf.decompiler.emit.expressions.positions import in_field
from depyf.decompiler.emit.expressions.quoting import NoQuotes, string, unescaped
from depyf.decompiler.emit.line_breaks import EITHER_CLOSE, EITHER_ELSE, EITHER_OPEN, OPERATOR
from depyf.decompiler.emit.printer import POWER, PRIMARY, Printer, prints
from depyf.decompiler.ir.expr import CellOf, Const, Name, NestedTemp, Taken, Temp
from depyf.decompiler.ir.markers import BuildClass, CommonConstant


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
        return in_field(p, value) or _unquotable(p, value)
    if level >= POWER and (text[0] == "-" or (level == PRIMARY and kind is int)):
        # A number before a dot needs parentheses, and so does a sign before ``**`` or a dot.
        return f"({text})"
    return text


def pieces(p: Printer, whole: str, parts: list[str]) -> str:
    """A literal that may be written as several adjacent ones, which the parser joins again."""
    return EITHER_OPEN + whole + EITHER_ELSE + OPERATOR.join(parts) + EITHER_CLOSE


def _unquotable(p: Printer, value: Any) -> str:
    """A constant for which no kind of quotes is left inside the f-string, unless the outer quotes change."""
    if p.last_resort:
        return p.bound_const(value)
    raise NoQuotes


@prints(Temp)
@prints(NestedTemp)
def temp(p: Printer, node: Temp | NestedTemp, level: int) -> str:
    return p.temp(node.suffix)


@prints(Taken)
def taken(p: Printer, node: Taken, level: int) -> str:
    name = p.temp(node.temp.suffix)
    return f"({name}, {name} := None)[0]"


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


@prints(CommonConstant)
def common_constant(p: Printer, node: CommonConstant, level: int) -> str:
    """AssertionError and the like without a look at the globals, where no ``assert`` was recognised."""
    if not hasattr(builtins, node.name):
        raise p.fail(f"no builtin is called {node.name}")
    return p.bound_const(getattr(builtins, node.name))


@prints(BuildClass)
def build_class(p: Printer, node: BuildClass, level: int) -> str:
    raise p.fail("no source makes a class without storing it under the name that it is given")
