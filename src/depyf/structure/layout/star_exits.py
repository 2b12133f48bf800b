"""Exits from the clauses of ``except*``, which may contain neither ``return`` nor ``break`` nor ``continue``.

Input and output: the labelled dialect.

    Try: A  except* E: B; exit L      ->      Block(M) { Try: A  except* E: B; exit M }  exit L

So do clauses of which the bytecode tells that they end before control goes on (``Exit.falls``, 3.8).
"""

from __future__ import annotations

from collections.abc import Sequence

from depyf.ir.expr import Marker
from depyf.ir.stmt import (
    Block,
    Body,
    Break,
    Continue,
    ExceptClause,
    Exit,
    For,
    If,
    Loop,
    Return,
    Stmt,
    Try,
    While,
)
from depyf.ir.transformer import map_statements
from depyf.ir.walk_stmt import bodies, walk, walk_within, with_bodies
from depyf.safety.depth import any_depth
from depyf.structure.label_kinds import LabelKind, make_label


def leaves_clause(body: Body) -> bool:
    """Whether a clause of ``except*`` in the Python dialect holds a ``return``, ``break`` or ``continue`` that leaves it."""
    stars = [stmt for stmt in walk(body) if isinstance(stmt, Try) and stmt.star]
    clauses = [clause.body for stmt in stars for clause in stmt.handlers]
    return any(
        isinstance(stmt, Return) or not in_loop and isinstance(stmt, (Break, Continue))
        for clause in clauses
        for stmt, in_loop in walk_within(clause, False, _in_loop)
    )


def _in_loop(stmt: Stmt, around: bool, at: int) -> bool:
    return around or isinstance(stmt, (For, While))


def falls_through(body: Body) -> bool:
    """Whether a clause is known to end before control goes on."""
    return any(isinstance(stmt, Exit) and stmt.falls for stmt in walk(body))


def leave_clauses_first(body: Body) -> Body:
    """``body`` with one exit after each ``try`` whose clauses leave for one place, and must not do so themselves."""
    return _ClauseExits().run(body)


class _ClauseExits:
    def __init__(self) -> None:
        self.count = 0

    @any_depth
    def run(self, body: Body, inside: int | None = None) -> Body:
        """``inside`` is the label of the added block that ``body`` is in."""
        for i, stmt in enumerate(body):
            label, written = _left_for(stmt)
            if label is None or label == inside:
                continue
            end = make_label(LabelKind.STATEMENT_END, self.count)
            self.count += 1

            def moved(inner: Stmt, old: int = label, new: int = end) -> Stmt:
                return Exit(new) if isinstance(inner, Exit) and inner.label == old and not inner.written else inner

            def moved_too(inner: Stmt, old: int = label, new: int = end) -> Stmt:
                return Exit(new) if isinstance(inner, Exit) and inner.label == old else inner

            # what follows a block that ends in the statement is its ``else``
            rest = map_statements(body[i:], moved)
            if written:  # by one statement after it: no clause can hold that
                rest = (*map_statements(rest[:1], moved_too), *rest[1:])
            made = Block(end, self.run(rest, end))
            return (*self._inner(body[:i]), made, Exit(label, written=written))
        return self._inner(body)

    @any_depth
    def _inner(self, body: Body) -> Body:
        return tuple(with_bodies(stmt, lambda inner: self.run(inner)) if bodies(stmt) else stmt for stmt in body)


def _left_for(stmt: Stmt) -> tuple[int | None, bool]:
    """Where all such clauses of a ``try``, at the end of ``stmt`` or all of it, go on if it is one place; and whether a
    ``continue`` or the like is what leads there.
    """
    around: set[int] = set()
    while isinstance(stmt, Block) and stmt.body:
        around.add(stmt.label)
        stmt = stmt.body[-1]
    found = _falling(stmt.handlers) if isinstance(stmt, Try) else set()
    if found:
        first = found.pop()
        return None if found or first in around else first, False
    written = False
    for handler in stmt.handlers if isinstance(stmt, Try) else ():
        tests = handler.body
        while len(tests) == 1 and isinstance(tests[0], If) and _is_star(tests[0]):
            inner = tuple(walk(tests[0].body))
            own = {within.label for within in inner if isinstance(within, (Block, Loop))}
            exits = [within for within in inner if isinstance(within, Exit) and within.label not in own]
            found |= {within.label for within in exits}
            written = written or any(within.written for within in exits)
            tests = tests[0].orelse
    label = found.pop() if len(found) == 1 else None
    return None if label in around else label, written


def _falling(handlers: Sequence[ExceptClause]) -> set[int]:
    """Where the exits at the ends of handlers lead of which it is known that the handler is left first."""
    inner = tuple(stmt for handler in handlers for stmt in walk(handler.body))
    own = {within.label for within in inner if isinstance(within, (Block, Loop))}
    return {within.label for within in inner if isinstance(within, Exit) and within.falls and not within.written} - own


def _is_star(stmt: If) -> bool:
    return isinstance(stmt.test, Marker) and stmt.test.kind == "eg_match"
