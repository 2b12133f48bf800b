"""Hoists the last use of a temporary into a separate statement, where the rest of its statement does more.

Input and output: the Python dialect.  ``x[0:0] = [__temp_3("a")]`` stores after it has called; the original had
released the value of ``__temp_3`` by then.  So the call comes first, and ``release`` can put the ``del`` after it:

    __temp_9 = __temp_3("a"); del __temp_3; x[0:0] = [__temp_9]

The order of operations does not change.  Statements that evaluate conditionally are left alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any

from depyf.decompiler.ir.expr import (
    AwaitOf,
    BoolOf,
    CellOf,
    Cond,
    Const,
    DictOf,
    Display,
    Expr,
    Func,
    Name,
    Purpose,
    SliceOf,
    Star,
    Temp,
    TempKey,
    Un,
    YieldFrom,
    YieldOf,
)
from depyf.decompiler.ir.grown import Grown
from depyf.decompiler.ir.markers import Marker
from depyf.decompiler.ir.stmt import Assign, Delete, ExprStmt, If, Raise, Return, Stmt
from depyf.decompiler.ir.walk_expr import children, evaluation_order, walk_all
from depyf.safety.depth import any_depth

_PASSIVE = (Const, Temp, Display, SliceOf, Star, CellOf, Marker, DictOf)
_OPAQUE = (BoolOf, Cond, Func, AwaitOf, YieldOf, YieldFrom)


class Hoister:
    """Splits statements; ``count`` is how many new temporaries there are; reading a ``stable`` global
    (its name begins so) is no operation."""

    def __init__(self, stable: tuple[str, ...] = ()) -> None:
        self.count = 0
        self.stable = stable or ("\0",)

    def split(self, stmt: Stmt, dying: frozenset[TempKey]) -> list[Stmt]:
        """``stmt``, preceded by the operations in it that use up one of the temporaries ``dying``."""
        operands, more = _operands(stmt)
        events = self._operations(operands)
        if events is None:
            return [stmt]
        if not more and events:
            events.pop()  # nothing happens after the last operation: its temporaries end with the statement
        users = [index for index, event in enumerate(events) if _uses_up(event, dying)]
        if not users:
            return [stmt]
        while True:
            chosen = {id(event) for event in events[: users[-1] + 1] if self._hoisted(event, events, users)}
            # what takes the value of such a statement uses up its temporary
            more_users = [i for i, event in enumerate(events) if i not in users and _takes(event, chosen)]
            if not more_users:
                break
            users = sorted({*users, *more_users})
        return self._rewrite(stmt, chosen, getattr(stmt, "line", None))

    def _operations(self, operands: list[Expr]) -> list[Expr] | None:
        """The operations in ``operands`` in the order in which they happen; None where some may not happen."""
        nodes = evaluation_order(operands, lambda node: [] if isinstance(node, _OPAQUE) else children(node))
        if any(isinstance(node, _OPAQUE) and _has_temporary(node) for node in nodes):
            return None
        return [node for node in nodes if not isinstance(node, _PASSIVE) and not self._silent(node)]

    def _silent(self, node: Expr) -> bool:
        if isinstance(node, Un) and node.op == "not":  # of a bool
            return isinstance(node.operand, Un) and node.operand.op == "not"
        return isinstance(node, Name) and (node.scope == "fast" or node.id.startswith(self.stable))

    def _hoisted(self, event: Expr, events: list[Expr], users: list[int]) -> bool:
        """Whether ``event`` gets a separate statement: not where it is part of a later operation that does."""
        if any(events[index] is event for index in users):
            return True
        return not any(_contains(events[index], event) for index in users)

    def _rewrite(self, stmt: Stmt, chosen: set[int], line: int | None) -> list[Stmt]:
        before: list[Stmt] = []

        def changed(node: Any) -> Any:
            if isinstance(node, tuple):
                return tuple(change(part) for part in node)
            if not isinstance(node, Expr) or isinstance(node, _OPAQUE):
                return node
            updates = {}
            for field in fields(node):  # type: ignore[arg-type]
                value = getattr(node, field.name)
                if isinstance(value, Grown):
                    value = tuple(value)
                if isinstance(value, (Expr, tuple)):
                    new = change(value)
                    if new is not value and new != value:
                        updates[field.name] = new
            result = replace(node, **updates) if updates else node  # type: ignore[type-var]
            if id(node) not in chosen:
                return result
            temp = Temp(self.count, Purpose.HOISTED)
            self.count += 1
            before.append(Assign((temp,), result, line))
            return temp

        change = any_depth(changed)
        new_stmt = _with_operands(stmt, change)
        return [*before, new_stmt]


def _operands(stmt: Stmt) -> tuple[list[Expr], bool]:
    """The expressions a statement evaluates itself, in order, and whether it does something with them afterwards."""
    if isinstance(stmt, Assign):
        found = [stmt.value]
        active = False
        for target in stmt.targets:
            inner = list(children(target))
            found += inner
            active = active or bool(inner) or not isinstance(target, (Temp, Name))
        return found, active
    if isinstance(stmt, ExprStmt):
        return [stmt.value], False
    if isinstance(stmt, Return):
        return ([stmt.value] if stmt.value is not None else []), False
    if isinstance(stmt, Raise):
        return list(children(stmt)), True
    if isinstance(stmt, If):
        return [stmt.test], True
    if isinstance(stmt, Delete):
        return [part for target in stmt.targets for part in children(target)], True
    return [], False


def _with_operands(stmt: Stmt, change: Any) -> Stmt:
    if isinstance(stmt, Assign):
        value = change(stmt.value)
        targets = tuple(t if isinstance(t, (Temp, Name)) else _inside(t, change) for t in stmt.targets)
        return Assign(targets, value, stmt.line)
    if isinstance(stmt, (ExprStmt, Return)):
        return replace(stmt, value=change(stmt.value))
    if isinstance(stmt, If):
        return replace(stmt, test=change(stmt.test))
    if isinstance(stmt, Delete):
        return Delete(tuple(_inside(target, change) for target in stmt.targets), stmt.line)
    changed: Stmt = _inside(stmt, change)
    return changed


def _inside(node: Any, change: Any) -> Any:
    """``node`` with ``change`` applied to what is inside it."""
    updates = {}
    for field in fields(node):
        value = getattr(node, field.name)
        if isinstance(value, (Expr, tuple)):
            new = change(value)
            if new is not value and new != value:
                updates[field.name] = new
    return replace(node, **updates) if updates else node


def _taken(event: Expr) -> Iterator[Expr]:
    """The operands of ``event`` itself, directly or in a display."""
    return walk_all(children(event), lambda node: children(node) if isinstance(node, _PASSIVE) else [])


def _uses_up(event: Expr, dying: frozenset[TempKey]) -> bool:
    """Whether one of these temporaries is an operand of ``event`` itself."""
    return any(isinstance(node, Temp) and node.key in dying for node in _taken(event))


def _takes(event: Expr, chosen: set[int]) -> bool:
    """Whether one of these operations is an operand of ``event`` itself."""
    return any(id(node) in chosen for node in _taken(event))


def _has_temporary(node: Expr) -> bool:
    return any(isinstance(child, Temp) for child in walk_all((node,)) if child is not node)


def _contains(outer: Expr, inner: Expr) -> bool:
    return outer is not inner and any(child is inner for child in walk_all((outer,)))
