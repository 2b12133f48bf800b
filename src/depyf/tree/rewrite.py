"""Walking and rebuilding statement trees."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import cast

from depyf.tree.nodes import Block, Body, ExceptClause, For, If, Loop, Match, MatchCase, Stmt, Try, While, With


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
    """``stmt`` with ``change`` applied to each statement list directly inside it."""
    if isinstance(stmt, (If, While, For)):
        return replace(stmt, body=change(stmt.body), orelse=change(stmt.orelse))
    if isinstance(stmt, (Block, Loop, With)):
        return replace(stmt, body=change(stmt.body))
    if isinstance(stmt, Try):
        handlers = tuple(ExceptClause(c.type, c.name, change(c.body), c.line) for c in stmt.handlers)
        return replace(
            stmt, body=change(stmt.body), handlers=handlers, orelse=change(stmt.orelse), final=change(stmt.final)
        )
    if isinstance(stmt, Match):
        return replace(stmt, cases=tuple(MatchCase(c.pattern, c.guard, change(c.body)) for c in stmt.cases))
    return stmt


def map_statements(body: Body, change: Callable[[Stmt], Stmt]) -> Body:
    """``body`` with every statement replaced, innermost first."""

    def inside(inner: Body) -> Body:
        return map_statements(inner, change)

    return tuple(change(with_bodies(stmt, inside) if bodies(stmt) else stmt) for stmt in body)


def walk(body: Body) -> Iterator[Stmt]:
    """Every statement, outer before inner, in order."""
    stack = list(reversed(body))
    while stack:
        stmt = stack.pop()
        yield stmt
        for inner in reversed(bodies(stmt)):
            stack.extend(reversed(inner))
