"""Makes ``except`` clauses, ``with``, ``for`` and ``while`` from the markers of the labelled dialect.

The lifter left the markers: ``ExceptTest`` at the head of a handler, ``WithStart`` before a protected body,
``IteratorStart`` before a loop whose head is a ``ForTest``.  ``Caught`` stands where the caught exception is an
ordinary value (plain lifting): it gets a name, ``except BaseException as __temp_0``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from depyf.decompiler.ir.expr import Const, Expr, Name, Purpose, Star, Temp, Un
from depyf.decompiler.ir.markers import (
    Caught,
    Entered,
    ExceptTest,
    ForTest,
    IteratorStart,
    LoopItem,
    LoopIterator,
    ManagerClause,
    ManagerExit,
    Marker,
    Reraise,
    WithStart,
)
from depyf.decompiler.ir.stmt import (
    Assign,
    Body,
    Delete,
    ExceptClause,
    Exit,
    ExprStmt,
    For,
    If,
    Loop,
    PassStmt,
    Raise,
    Stmt,
    Try,
    While,
    With,
)
from depyf.decompiler.ir.transformer import Transformer, map_statements
from depyf.decompiler.ir.walk_expr import map_expressions, walk_all
from depyf.decompiler.ir.walk_stmt import bodies, close_blocks, open_blocks, walk
from depyf.decompiler.structure.exits import ends, with_copies

_MarkerT = TypeVar("_MarkerT", bound=Marker)


def marker_of(stmt: Stmt, kind: type[_MarkerT]) -> _MarkerT | None:
    """The marker of an expression statement, if it has that kind."""
    return stmt.value if isinstance(stmt, ExprStmt) and isinstance(stmt.value, kind) else None


def except_clauses(stmt: Try) -> Try:
    """Turn the tests at the head of a handler into ``except`` clauses."""
    if len(stmt.handlers) != 1 or stmt.handlers[0].type is not None:
        return stmt
    clauses: list[ExceptClause] = []
    resets, body = forgotten(stmt.handlers[0].body)
    body = _tests_first(body)
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
        if not isinstance(kind, ExceptTest):
            break
        star = kind.star
        matched, other = (test.orelse, test.body) if inverted else (test.body, test.orelse)
        if body[1:]:
            rest = body[1:]
            if not ends(matched) and not ends(other):
                if not _is_small(rest):
                    break
                matched, other = _before(matched, rest), _before(other, rest)
            else:
                matched, other = (matched, other + rest) if ends(matched) else (_before(matched, rest), other)
        name, matched = _bound_name(matched)
        clauses.append(ExceptClause(kind.type, name, matched, test.line or line))
        body, line = other, None
    if star and body and marker_of(body[0], Reraise):
        body = body[:1]  # the compiler assumes that control continues after the statement
    if not (len(body) == 1 and marker_of(body[0], Reraise)):
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
            replace(c, body=c.body if c.body and marker_of(c.body[0], Reraise) else resets + c.body) for c in clauses
        ]
    return replace(stmt, handlers=tuple(clauses), star=star)


def _is_small(rest: Body) -> bool:
    """Whether what follows the tests of a handler may be copied into each clause."""
    return len(rest) <= 2 and not any(bodies(after) for after in rest)


def _before(body: Body, rest: Body) -> Body:
    """The body of a clause with what follows it, for which no ``pass`` is needed."""
    return rest if len(body) == 1 and type(body[0]) is PassStmt else body + rest


def _tests_first(body: Body) -> Body:
    """A handler out of the blocks that its tests are in, if what follows each block is small."""
    around, inner = open_blocks(body)
    test = inner[0].test if around and inner and isinstance(inner[0], If) else None
    if not isinstance(test, ExceptTest):
        return body
    if not all(_is_small(rest) for _, rest in around):
        return body
    for block, rest in reversed(around):
        inner = with_copies(inner, block.label, rest)
        inner = inner if ends(inner) else (*inner, *rest)
    return inner


def forgotten(body: Body) -> tuple[Body, Body]:
    """The assignments to temporaries that a handler forgets first, and the rest of it."""
    count = 0
    while count < len(body):
        stmt = body[count]
        if not (isinstance(stmt, Assign) and isinstance(stmt.targets[0], Temp) and isinstance(stmt.value, Const)):
            break
        count += 1
    return body[:count], body[count:]


def _bound_name(body: Body) -> tuple[Name | None, Body]:
    target, rest = _assigned_first(body, Caught)
    return (target, rest) if isinstance(target, Name) else (None, body)


def _assigned_first(body: Body, kind: type[Marker]) -> tuple[Expr | None, Body]:
    """The target of the first statement, perhaps inside blocks, if that assigns such a marker; and the rest."""
    around, inner = open_blocks(body)
    if inner and isinstance(first := inner[0], Assign) and len(first.targets) == 1:
        if isinstance(first.value, kind):
            return first.targets[0], close_blocks(around, inner[1:])
    return None, body


def loop_heads(stmts: Body) -> Body:
    """Loops that begin with a test become ``for`` or ``while``; ``orelse`` then starts with an exit naming the loop."""
    return _LoopHeads().run(stmts)


class _LoopHeads(Transformer):
    title = "make a for, a while or a with of its parts"

    def leave(self, stmt: Stmt, done: list[Stmt]) -> None:
        stmt = _loop_head(stmt) if isinstance(stmt, Loop) else stmt
        if not (done and type(done[-1]) is ExprStmt and _takes_start(stmt, done)):
            done.append(_fill_free(stmt) if type(stmt) is For else stmt)


def _loop_head(stmt: Loop) -> Stmt:
    if not stmt.body or not isinstance(stmt.body[0], If):
        return stmt
    head = stmt.body[0]
    label = Exit(stmt.label)
    if isinstance(head.test, ForTest):
        if stmt.body[1:] and not ends(head.orelse):
            return stmt
        target, body = _assigned_first(head.body + stmt.body[1:], LoopItem)
        if target is None:
            return stmt
        return For(target, head.test, body, (label, *head.orelse), False, head.line)
    rest = stmt.body[1:]
    if len(head.orelse) == 1 and isinstance(head.orelse[0], Exit) and head.orelse[0].label != stmt.label:
        return While(head.test, head.body + rest, (label, *head.orelse), head.line)
    return stmt


def _takes_start(stmt: Stmt, done: list[Stmt]) -> bool:
    """Whether the start of a loop or ``with``, the last of ``done``, became a part of ``stmt``, which replaces it."""
    before = done[-1]
    loop, manager = marker_of(before, IteratorStart), marker_of(before, WithStart)
    if loop is None and manager is None:
        return False
    around, inner = open_blocks((stmt,))
    made = None
    if inner and loop is not None:
        made = _fill(inner[0], loop.iterator)
    elif inner and manager is not None:
        made = _enter(inner[0], manager.exit, before.line)
    if made is not None:
        done[-1:] = close_blocks(around, (made, *inner[1:]))
    return made is not None


def _enter(stmt: Stmt, entered: ManagerExit, line: int | None) -> Stmt | None:
    """The ``with`` whose manager was entered just before ``stmt``, its protected body."""
    if isinstance(stmt, Try) and any(isinstance(c.type, ManagerClause) for c in stmt.handlers):
        manager = entered.manager
        target, body = _entered(stmt.body)
        if isinstance(manager, Star):
            manager = manager.value
            body = (Delete((manager,), line), *body)
        return With(((manager, target),), body, entered.is_async, line)
    return None


def _fill(stmt: Stmt, iterator: LoopIterator) -> Stmt | None:
    """The loop ``stmt`` with its iterable, whose iterator was made just before it."""
    if isinstance(stmt, For) and isinstance(stmt.iter, ForTest) and stmt.iter.iterator is iterator:
        return replace(stmt, iter=iterator.value, is_async=iterator.is_async)
    return None


def _fill_free(stmt: Stmt) -> Stmt:
    """A loop over an iterator that was there before (an argument, a temporary)."""
    if isinstance(stmt, For) and isinstance(stmt.iter, ForTest):
        source = stmt.iter.iterator
        if not isinstance(source, Marker):
            return replace(stmt, iter=source)
    return stmt


def reraises(stmts: Body) -> Body:
    """Turns re-raising the handled exception into a bare ``raise``."""
    if not any(type(stmt) is ExprStmt and marker_of(stmt, Reraise) for stmt in walk(stmts)):
        return stmts

    def bare(stmt: Stmt) -> Stmt:
        return Raise(None, None, stmt.line) if marker_of(stmt, Reraise) else stmt

    return map_statements(stmts, bare, "make a bare raise of raising the handled exception")


def _entered(body: Body) -> tuple[Expr | None, Body]:
    """The target of a ``with``, and its body."""
    around, inner = open_blocks(body)
    if inner and marker_of(inner[0], Entered):
        return None, close_blocks(around, inner[1:])
    return _assigned_first(body, Entered)


def named_exception(body: Body, region: int) -> tuple[Body, Temp | None]:
    """The body of a handler with a temporary for what it caught, and that temporary; None where it is not used."""
    temp = Temp(region, Purpose.CAUGHT)

    def change(expr: Expr) -> Expr:
        caught = isinstance(expr, Caught) and expr.region == region
        return temp if caught else expr

    kept = _WithoutDeletions(region).run(body)
    if map_expressions(kept, change) is kept:
        return kept, None  # nothing but deletions of it
    return map_expressions(body, change), temp


class _WithoutDeletions(Transformer):
    title = "drop the deletion of the caught exception"

    def __init__(self, region: int) -> None:
        self.region = region

    def leave(self, stmt: Stmt, done: list[Stmt]) -> None:
        forgets = isinstance(stmt, Delete) or isinstance(stmt, Assign) and isinstance(stmt.value, Const)
        target = stmt.targets[0] if forgets and isinstance(stmt, (Delete, Assign)) else None
        if not (isinstance(target, Caught) and target.region == self.region):
            done.append(stmt)


def mentions(body: Body, temp: Temp) -> bool:
    """Whether a temporary occurs anywhere in ``body``."""
    return any(isinstance(node, Temp) and node.key == temp.key for node in walk_all(body))
