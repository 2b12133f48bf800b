"""Makes ``except`` clauses, ``with``, ``for`` and ``while`` from the markers of the labelled dialect.

The lifter left the markers: the test ``exc_match`` at the head of a handler, ``with_start`` before a
protected body, ``iter_start`` before a loop whose head tests ``for``.
"""

from __future__ import annotations

from dataclasses import replace

from depyf.ir.expr import Const, Expr, Marker, Name, Star, Temp, Un
from depyf.ir.stmt import (
    Assign,
    Block,
    Body,
    Delete,
    ExceptClause,
    Exit,
    ExprStmt,
    For,
    If,
    Loop,
    Raise,
    Stmt,
    Try,
    While,
    With,
)
from depyf.ir.walk_stmt import bodies, walk, with_bodies
from depyf.lift.stack_values import IterOf
from depyf.safety.depth import any_depth
from depyf.structure.caught_exception import mentions
from depyf.structure.exits import ends


def marker_of(stmt: Stmt, kind: str) -> Marker | None:
    """The marker of an expression statement, if it has that kind."""
    if isinstance(stmt, ExprStmt) and isinstance(stmt.value, Marker) and stmt.value.kind == kind:
        return stmt.value
    return None


def except_clauses(stmt: Try) -> Try:
    """Turn the tests at the head of a handler into ``except`` clauses."""
    if len(stmt.handlers) != 1 or stmt.handlers[0].type is not None:
        return stmt
    clauses: list[ExceptClause] = []
    resets, body = _resets(stmt.handlers[0].body)
    caught = stmt.handlers[0].name
    line = stmt.handlers[0].line
    star = False
    while body:
        test = body[0]
        matched: Body
        if not isinstance(test, If):
            break
        kind = test.test
        inverted = isinstance(kind, Un) and kind.op == "not"
        if inverted:
            assert isinstance(kind, Un)
            kind = kind.operand
        if not (isinstance(kind, Marker) and kind.kind in ("exc_match", "eg_match")):
            break
        star = kind.kind == "eg_match"
        matched, other = (test.orelse, test.body) if inverted else (test.body, test.orelse)
        if body[1:]:
            rest = body[1:]
            if not ends(matched) and not ends(other):
                if len(rest) > 2 or any(bodies(after) for after in rest):
                    break
                matched, other = matched + rest, other + rest
            else:
                matched, other = (matched, other + rest) if ends(matched) else (matched + rest, other)
        name, matched = _bound_name(matched)
        clauses.append(ExceptClause(kind.detail, name, matched, test.line or line))
        body, line = other, None
    if star and body and marker_of(body[0], "reraise"):
        body = body[:1]  # the compiler assumes that control continues after the statement
    if not (len(body) == 1 and marker_of(body[0], "reraise")):
        if body or not clauses:
            clauses.append(ExceptClause(None, None, body, line))
        elif not clauses:
            return stmt
        else:
            clauses.append(ExceptClause(None, None, (), line))
    elif not clauses:
        clauses.append(ExceptClause(None, None, body, line))
    if isinstance(caught, Temp):
        everything = Const(BaseException)
        clauses = [
            replace(c, type=c.type or everything, name=caught) if c.name is None and mentions(c.body, caught) else c
            for c in clauses
        ]
    if resets:
        clauses = [
            replace(c, body=c.body if c.body and marker_of(c.body[0], "reraise") else resets + c.body) for c in clauses
        ]
    return replace(stmt, handlers=tuple(clauses), star=star)


def _resets(body: Body) -> tuple[Body, Body]:
    """Temporaries that a handler forgets first, and the rest of it."""
    count = 0
    while count < len(body):
        stmt = body[count]
        if not (isinstance(stmt, Assign) and isinstance(stmt.targets[0], Temp) and isinstance(stmt.value, Const)):
            break
        count += 1
    return body[:count], body[count:]


@any_depth
def _bound_name(body: Body) -> tuple[Name | None, Body]:
    if body and isinstance(body[0], Block):
        name, inner = _bound_name(body[0].body)
        return name, (replace(body[0], body=inner), *body[1:])
    if body and isinstance(body[0], Assign) and len(body[0].targets) == 1:
        target, value = body[0].targets[0], body[0].value
        if isinstance(target, Name) and isinstance(value, Marker) and value.kind == "exc":
            return target, body[1:]
    return None, body


@any_depth
def loop_heads(stmts: Body) -> Body:
    """Loops that begin with a test become ``for`` or ``while``; ``orelse`` then starts with an exit naming the loop."""
    result: list[Stmt] = []
    for stmt in stmts:
        if bodies(stmt):
            stmt = with_bodies(stmt, loop_heads)
        if isinstance(stmt, Loop):
            stmt = _loop_head(stmt)
        result.append(stmt)
    return _take_iterators(tuple(result))


def _loop_head(stmt: Loop) -> Stmt:
    if not stmt.body or not isinstance(stmt.body[0], If):
        return stmt
    head = stmt.body[0]
    label = Exit(stmt.label)
    if isinstance(head.test, Marker) and head.test.kind == "for":
        if stmt.body[1:] and not ends(head.orelse):
            return stmt
        target, body = _item(head.body + stmt.body[1:])
        if target is None:
            return stmt
        return For(target, head.test, body, (label, *head.orelse), False, head.line)
    rest = stmt.body[1:]
    if len(head.orelse) == 1 and isinstance(head.orelse[0], Exit) and head.orelse[0].label != stmt.label:
        return While(head.test, head.body + rest, (label, *head.orelse), head.line)
    return stmt


@any_depth
def _item(body: Body) -> tuple[Expr | None, Body]:
    """Target of a ``for`` and the rest of its body."""
    if body:
        first = body[0]
        if isinstance(first, Assign) and len(first.targets) == 1 and _is_item(first.value):
            return first.targets[0], body[1:]
        if isinstance(first, Block):
            target, inner = _item(first.body)
            return target, (replace(first, body=inner), *body[1:])
    return None, body


def _is_item(value: Expr) -> bool:
    return isinstance(value, Marker) and value.kind == "item"


def _take_iterators(stmts: Body) -> Body:
    """``iter_start`` directly before its loop gives the ``for`` its iterable."""
    result: list[Stmt] = []
    for stmt in stmts:
        if result:
            start = marker_of(result[-1], "iter_start")
            if start is not None:
                filled = _fill(stmt, start.detail)
                if filled is not None:
                    result[-1] = filled
                    continue
            start = marker_of(result[-1], "with_start")
            if start is not None:
                entered = _enter(stmt, start.detail, result[-1].line)
                if entered is not None:
                    result[-1] = entered
                    continue
        result.append(_fill_free(stmt))
    return tuple(result)


@any_depth
def _enter(stmt: Stmt, marker: Marker, line: int | None) -> Stmt | None:
    """The ``with`` whose manager was entered just before ``stmt``, its protected body, perhaps inside blocks."""
    if isinstance(stmt, Block) and stmt.body:
        inner = _enter(stmt.body[0], marker, line)
        return None if inner is None else replace(stmt, body=(inner, *stmt.body[1:]))
    if isinstance(stmt, Try) and any(isinstance(c.type, Marker) for c in stmt.handlers):
        manager, is_async = marker.detail
        target, body = _entered(stmt.body)
        if isinstance(manager, Star):
            manager = manager.value
            body = (Delete((manager,), line), *body)
        return With(((manager, target),), body, is_async, line)
    return None


@any_depth
def _fill(stmt: Stmt, marker: Marker) -> Stmt | None:
    if isinstance(stmt, Block) and stmt.body:
        inner = _fill(stmt.body[0], marker)
        return None if inner is None else replace(stmt, body=(inner, *stmt.body[1:]))
    if isinstance(stmt, For) and isinstance(stmt.iter, Marker) and stmt.iter.detail is marker:
        source = marker.detail
        assert isinstance(source, IterOf)
        return replace(stmt, iter=source.value, is_async=source.is_async)
    return None


def _fill_free(stmt: Stmt) -> Stmt:
    """A loop over an iterator that was there before (an argument, a temporary)."""
    if isinstance(stmt, For) and isinstance(stmt.iter, Marker) and stmt.iter.kind == "for":
        source = stmt.iter.detail
        if not isinstance(source, Marker):
            return replace(stmt, iter=source)
    return stmt


def reraises(stmts: Body) -> Body:
    """Turns re-raising the handled exception into a bare ``raise``."""
    return _with_raises(stmts) if any(marker_of(stmt, "reraise") for stmt in walk(stmts)) else stmts


@any_depth
def _with_raises(stmts: Body) -> Body:
    result: list[Stmt] = []
    for stmt in stmts:
        if bodies(stmt):
            stmt = with_bodies(stmt, _with_raises)
        elif marker_of(stmt, "reraise"):
            stmt = Raise(None, None, stmt.line)
        result.append(stmt)
    return tuple(result)


@any_depth
def _entered(body: Body) -> tuple[Expr | None, Body]:
    if body:
        first = body[0]
        if isinstance(first, Block):
            target, inner = _entered(first.body)
            return target, (replace(first, body=inner), *body[1:])
        if marker_of(first, "entered"):
            return None, body[1:]
        if isinstance(first, Assign) and len(first.targets) == 1:
            value = first.value
            if isinstance(value, Marker) and value.kind == "entered":
                return first.targets[0], body[1:]
    return None, body
