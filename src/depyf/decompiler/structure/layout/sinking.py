"""Moves code that only one exit leads to to that exit, where leaving the block first would cost a flag.

    Block(A): Block(B): Loop(L): if a: Exit(A)      Block(A): Loop(L): if a: Exit(A)
                                 if b: Exit(B)  ->                     if b: raise X
              raise X                                              ..
    tail                                            tail

Control is left to flow as before, so this is sound wherever the moved code raises into the same handlers: it crosses no
``try`` or ``with``, unless it cannot raise.  An exit at the end of a ``try`` whose handlers all leave is as good as one
after it.  A constant that is returned, or another exit, is so small that the compiler copies it as well: any number of
exits may lead to that.  Two blocks that begin at one place may also change places.  Input and output: the labelled
dialect.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace

from depyf.decompiler.ir.expr import Const
from depyf.decompiler.ir.markers import Marker
from depyf.decompiler.ir.stmt import Block, Body, Exit, If, Loop, PassStmt, Return, Stmt, Try
from depyf.decompiler.ir.transformer import map_lists
from depyf.decompiler.ir.walk_stmt import bodies, walk, walk_within, with_bodies
from depyf.decompiler.structure.exits import ends, exit_labels, first_line
from depyf.safety.depth import any_depth
from depyf.safety.rewrites import step

MOST = 60
"""Labels that are tried in one function; each costs one more translation of it."""


@dataclass(frozen=True, slots=True)
class _ExitUse:
    """An exit: whether it crosses a loop, one with an iterator, or a handler's protection, and ``Exit.unbinds``."""

    loop: bool
    iterator: bool
    protected: bool
    unbinds: bool = False


Cost = tuple[int, ...]
"""What a hand-written text rarely has, the worst first: flags, loops that run once, copies, ``pass``."""


def cheapest(body: list[Stmt], cost: Cost, price: Callable[[list[Stmt]], Cost]) -> list[Stmt]:
    """``body`` with code moved to the exits that lead to it, as far as that lowers its ``price`` (now ``cost``)."""
    left = MOST
    while any(cost[:-1]) and left > 0:
        # of equal ones the first in the file: what stands last is after the loop
        places = [(place, sink) for place in movable(tuple(body))] + [(place, swap) for place in swappable(tuple(body))]
        found = [(change, label) for (_, label), change in sorted(places, key=lambda place: place[0][0])][:left]
        left -= len(found)
        changed = (list(change(tuple(body), label)) for change, label in found)
        tried = [(price(moved), at, moved) for at, moved in enumerate(changed)]
        if not tried or min(one[0] for one in tried) >= cost:
            break
        cost, _, body = min(tried, key=lambda one: one[:2])
        step("move what follows a block to its exits")
    return body


def idle(body: Body) -> int:
    """How many statements of ``body`` are redundant."""
    return sum(isinstance(stmt, PassStmt) for stmt in walk(body))


@any_depth
def movable(body: Body) -> list[tuple[int, int]]:
    """Labels of the blocks whose following code may go to their exits, with its line, inner ones first."""
    found: list[tuple[int, int]] = []
    for at, stmt in enumerate(body):
        for inner in bodies(stmt):
            found.extend(movable(inner))
        if isinstance(stmt, Block) and _may_sink(stmt, body[at + 1 :]):
            found.append((first_line(body[at + 1 :]) or 0, stmt.label))
    return found


def _may_sink(block: Block, tail: Body) -> bool:
    if not tail or not ends(tail):
        return False
    uses = _uses(block.body, block.label)
    small = len(tail) == 1 and _small(tail[0])
    if not uses or len(uses) > 1 and not small or any(use.unbinds for use in uses):
        return False  # after the clause
    if small and isinstance(tail[0], Return) and tail[0].implicit:
        return not any(use.protected for use in uses)  # the end of the function is after a ``with``, not in it
    return small or uses[0].loop and not uses[0].iterator and not uses[0].protected


def _small(stmt: Stmt) -> bool:
    return isinstance(stmt, Exit) or isinstance(stmt, Return) and (stmt.value is None or isinstance(stmt.value, Const))


def _uses(body: Body, label: int) -> list[_ExitUse]:
    found: list[_ExitUse] = []
    counted: Counter[int] = Counter()
    for stmt, use in walk_within(body, _ExitUse(False, False, False), _inside):
        if isinstance(stmt, Try) and _falls_to(stmt, label):
            found.append(use)
            counted[id(stmt.body[-1])] += 1
        elif isinstance(stmt, Exit) and counted[id(stmt)]:
            counted[id(stmt)] -= 1
        elif isinstance(stmt, Exit) and stmt.label == label:
            found.append(replace(use, unbinds=stmt.unbinds))
    return found


def _inside(stmt: Stmt, use: _ExitUse, at: int) -> _ExitUse:
    if isinstance(stmt, Loop):
        return replace(use, loop=True, iterator=use.iterator or _has_iterator(stmt))
    return replace(use, protected=True) if isinstance(stmt, Try) else use


def _falls_to(stmt: Stmt, label: int) -> bool:
    """Whether only the end of a ``try`` body leads to what follows the statement, and from there to ``label``."""
    if not isinstance(stmt, Try) or len(stmt.body) < 2 or stmt.orelse or stmt.final or not stmt.handlers:
        return False
    last = stmt.body[-1]
    return isinstance(last, Exit) and last.label == label and all(ends(clause.body) for clause in stmt.handlers)


def _without_exit(stmt: Stmt) -> Stmt:
    assert isinstance(stmt, Try)
    return replace(stmt, body=stmt.body[:-1])


def _has_iterator(loop: Loop) -> bool:
    head = loop.body[0] if loop.body else None
    while isinstance(head, Block) and head.body:
        head = head.body[0]
    return isinstance(head, If) and isinstance(head.test, Marker)


@any_depth
def swappable(body: Body) -> list[tuple[int, int]]:
    """Labels of the blocks that may change places with the block they begin with, with the line of what follows them.

    That must stand before what follows the other one, by its line: after a loop that is left by ``break`` in any case.
    """
    found: list[tuple[int, int]] = []
    for at, stmt in enumerate(body):
        for inner in bodies(stmt):
            found.extend(swappable(inner))
        after = body[at + 1 :]
        if isinstance(stmt, Block) and stmt.body and isinstance(stmt.body[0], Block) and ends(after):
            inside = stmt.body[1:]
            line, other = first_line(after), first_line(inside)
            if ends(inside) and line is not None and other is not None and line < other:
                if stmt.label not in exit_labels(inside):
                    found.append((line, stmt.label))
    return found


def swap(body: Body, label: int) -> Body:
    """``body`` with the block ``label`` inside the one that it begins with.

    Block(A): Block(B): X     Block(B): Block(A): X
              rest        ->            tail
    tail                      rest
    """

    def moved(stmts: list[Stmt]) -> Body:
        for at, stmt in enumerate(stmts):
            if isinstance(stmt, Block) and stmt.label == label:
                inner, *rest = stmt.body
                assert isinstance(inner, Block)
                return (*stmts[:at], replace(inner, body=(replace(stmt, body=inner.body), *stmts[at + 1 :])), *rest)
        return tuple(stmts)

    return map_lists(body, moved)


def sink(body: Body, label: int) -> Body:
    """``body`` with the code after the block ``label`` at the exits to it; the block is gone."""

    def moved(stmts: list[Stmt]) -> Body:
        for at, stmt in enumerate(stmts):
            if isinstance(stmt, Block) and stmt.label == label:
                return (*stmts[:at], *_replaced(stmt.body, label, tuple(stmts[at + 1 :])))
        return tuple(stmts)

    return map_lists(body, moved)


@any_depth
def _replaced(body: Body, label: int, tail: Body) -> Body:
    result: list[Stmt] = []
    for stmt in body:
        if _falls_to(stmt, label):
            rest = _without_exit(stmt)
            result.extend((with_bodies(rest, lambda inner: _replaced(inner, label, tail)), *tail))
        elif isinstance(stmt, Exit) and stmt.label == label:
            result.extend(tail)
        else:
            result.append(with_bodies(stmt, lambda inner: _replaced(inner, label, tail)) if bodies(stmt) else stmt)
    return tuple(result)
