"""Walking and rebuilding statement trees."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import cast

from depyf.ir.stmt import Block, Body, ExceptClause, For, If, Loop, Match, MatchCase, Stmt, Try, While, With
from depyf.safety.depth import any_depth, note

COMPOUND = frozenset({If, While, For, Block, Loop, With, Try, Match})
"""The statements that have others inside."""


def bodies(stmt: Stmt) -> tuple[Body, ...]:
    """The statement lists directly inside a statement."""
    kind = type(stmt)
    if kind is If or kind is While or kind is For:
        node = cast("If | While | For", stmt)
        return node.body, node.orelse
    if kind is Block or kind is Loop or kind is With:
        return (cast("Block | Loop | With", stmt).body,)
    if kind is Try:
        tried = cast("Try", stmt)
        return (tried.body, *(clause.body for clause in tried.handlers), tried.orelse, tried.final)
    if kind is Match:
        return tuple(case.body for case in cast("Match", stmt).cases)
    return ()


def with_bodies(stmt: Stmt, change: Callable[[Body], Body]) -> Stmt:
    """``stmt`` with ``change`` applied to each statement list directly inside it; itself if that changes nothing.

    Statements are equal only to themselves: comparing lists of them compares identities.
    """
    if isinstance(stmt, If):
        body, orelse = change(stmt.body), change(stmt.orelse)
        same = body == stmt.body and orelse == stmt.orelse
        return stmt if same else If(stmt.test, body, orelse, stmt.line)
    if isinstance(stmt, (While, For)):
        body, orelse = change(stmt.body), change(stmt.orelse)
        return stmt if body == stmt.body and orelse == stmt.orelse else replace(stmt, body=body, orelse=orelse)
    if isinstance(stmt, (Block, Loop, With)):
        body = change(stmt.body)
        return stmt if body == stmt.body else replace(stmt, body=body)
    if isinstance(stmt, Try):
        inside = [change(clause.body) for clause in stmt.handlers]
        body, orelse, final = change(stmt.body), change(stmt.orelse), change(stmt.final)
        handlers = stmt.handlers
        if any(new != clause.body for new, clause in zip(inside, handlers, strict=True)):
            handlers = tuple(ExceptClause(c.type, c.name, new, c.line) for new, c in zip(inside, handlers, strict=True))
        elif body == stmt.body and orelse == stmt.orelse and final == stmt.final:
            return stmt
        return Try(body, handlers, orelse, final, stmt.star, stmt.line)
    if isinstance(stmt, Match):
        return replace(stmt, cases=tuple(MatchCase(c.pattern, c.guard, change(c.body)) for c in stmt.cases))
    return stmt


@any_depth
def map_statements(body: Body, change: Callable[[Stmt], Stmt]) -> Body:
    """``body`` with every statement replaced, innermost first."""

    def inside(inner: Body) -> Body:
        return map_statements(inner, change)

    return tuple(change(with_bodies(stmt, inside) if bodies(stmt) else stmt) for stmt in body)


def walk(body: Body) -> Iterator[Stmt]:
    """Every statement, outer before inner, in order."""
    stack = list(reversed(body))
    seen = 0
    try:
        while stack:
            stmt = stack.pop()
            seen += 1
            yield stmt
            if type(stmt) in COMPOUND:
                for inner in reversed(bodies(stmt)):
                    stack.extend(reversed(inner))
    finally:
        note(seen)
