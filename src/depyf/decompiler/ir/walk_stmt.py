"""Walking and rebuilding statement trees."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from depyf.decompiler.ir.stmt import Block, Body, ExceptClause, For, If, Loop, Match, MatchCase, Stmt, Try, While, With
from depyf.safety.depth import note

_Around = TypeVar("_Around")

COMPOUND = frozenset({If, While, For, Block, Loop, With, Try, Match})
"""The statements that have others inside."""


def bodies(stmt: Stmt) -> tuple[Body, ...]:
    """The statement lists directly inside a statement."""
    kind = type(stmt)
    if kind not in COMPOUND:
        return ()
    node: Any = stmt
    if kind is If or kind is While or kind is For:
        return node.body, node.orelse
    if kind is Try:
        return (node.body, *[clause.body for clause in node.handlers], node.orelse, node.final)
    if kind is Match:
        return tuple([case.body for case in node.cases])
    return (node.body,)


def with_new_bodies(stmt: Stmt, new: Sequence[Body]) -> Stmt:
    """``stmt`` with others in the place of the lists that ``bodies`` gives; itself if they are the same.

    Statements are equal only to themselves: comparing lists of them compares identities.
    """
    if isinstance(stmt, (If, While, For)):
        body, orelse = new
        if body == stmt.body and orelse == stmt.orelse:
            return stmt
        return (
            If(stmt.test, body, orelse, stmt.line) if isinstance(stmt, If) else replace(stmt, body=body, orelse=orelse)
        )
    if isinstance(stmt, (Block, Loop, With)):
        return stmt if new[0] == stmt.body else replace(stmt, body=new[0])
    if isinstance(stmt, Try):
        body, *inside, orelse, final = new
        handlers = stmt.handlers
        if any(inner != clause.body for inner, clause in zip(inside, handlers, strict=True)):
            handlers = tuple(
                ExceptClause(c.type, c.name, inner, c.line) for inner, c in zip(inside, handlers, strict=True)
            )
        elif body == stmt.body and orelse == stmt.orelse and final == stmt.final:
            return stmt
        return Try(body, handlers, orelse, final, stmt.star, stmt.line)
    if isinstance(stmt, Match) and any(body != case.body for body, case in zip(new, stmt.cases, strict=True)):
        pairs = zip(new, stmt.cases, strict=True)
        return replace(stmt, cases=tuple(MatchCase(case.pattern, case.guard, body) for body, case in pairs))
    return stmt


def with_bodies(stmt: Stmt, change: Callable[[Body], Body]) -> Stmt:
    """``stmt`` with ``change`` applied to each statement list directly inside it; itself if that changes nothing."""
    return with_new_bodies(stmt, [change(body) for body in bodies(stmt)])


def open_blocks(body: Body) -> tuple[list[tuple[Block, Body]], Body]:
    """The blocks that ``body`` begins with, outer before inner, with what follows each; and the innermost list."""
    around: list[tuple[Block, Body]] = []
    while body and isinstance(body[0], Block):
        around.append((body[0], body[1:]))
        body = body[0].body
    return around, body


def close_blocks(around: list[tuple[Block, Body]], body: Body) -> Body:
    """``body`` as the innermost list of such blocks."""
    for block, rest in reversed(around):
        body = (replace(block, body=body), *rest)
    return body


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


def walk_within(
    body: Body, around: _Around, inside: Callable[[Stmt, _Around, int], _Around | None]
) -> Iterator[tuple[Stmt, _Around]]:
    """Every statement, outer before inner, in order, with what is known of the statements around it.

    That is ``around`` in ``body`` itself.  ``inside(stmt, around, at)`` gives it for the list ``bodies(stmt)[at]``;
    None leaves that list out.
    """
    stack = [(stmt, around) for stmt in reversed(body)]
    seen = 0
    try:
        while stack:
            stmt, known = stack.pop()
            seen += 1
            yield stmt, known
            if type(stmt) in COMPOUND:
                lists = bodies(stmt)
                for at in range(len(lists) - 1, -1, -1):
                    if lists[at] and (within := inside(stmt, known, at)) is not None:
                        stack.extend([(inner, within) for inner in reversed(lists[at])])
    finally:
        note(seen)
