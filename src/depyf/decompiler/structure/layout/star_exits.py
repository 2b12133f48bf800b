"""Exits from the clauses of ``except*``, which may contain neither ``return`` nor ``break`` nor ``continue``.

Input and output: the labelled dialect.

    Try: A  except* E: B; exit L      ->      Block(M) { Try: A  except* E: B; exit M }  exit L

Nor may they set a variable that says where to go on.  To the compiler a ``try`` whose body raised may be left though no
clause ran, and the variable is not set there.  The assignment moves along with the exit.

So do clauses of which the bytecode tells that they end before control goes on (``Exit.falls``, 3.8).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from depyf.decompiler.ir.expr import Const, Purpose, Temp
from depyf.decompiler.ir.markers import ExceptTest
from depyf.decompiler.ir.stmt import (
    Assign,
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
from depyf.decompiler.ir.transformer import map_lists
from depyf.decompiler.ir.walk_expr import walk_own
from depyf.decompiler.ir.walk_stmt import bodies, walk, walk_within, with_bodies
from depyf.decompiler.structure.clauses import forgotten
from depyf.decompiler.structure.label_kinds import LabelKind, make_label
from depyf.safety.depth import any_depth

Choice = tuple[tuple[Purpose, int], object]
"""A variable that says where to go on, and what it is set to."""
Way = tuple[int, tuple[Choice, ...]]
"""The label of an exit, and what was chosen right before it."""
_CHOOSING = frozenset({Purpose.FLAG, Purpose.DISPATCH, Purpose.ENTRY})


def leaves_clause(body: Body) -> bool:
    """Whether a clause of ``except*`` in the Python dialect holds a ``return``, ``break`` or ``continue`` that leaves
    it, or sets a variable that says where to go on after it."""
    stars = [stmt for stmt in walk(body) if isinstance(stmt, Try) and stmt.star]
    clauses = [clause.body for stmt in stars for clause in stmt.handlers]
    return any(
        isinstance(stmt, Return) or not in_loop and isinstance(stmt, (Break, Continue))
        for clause in clauses
        for stmt, in_loop in walk_within(clause, False, _in_loop)
    ) or any(_selected(clause) for clause in clauses)


def _selected(clause: Body) -> bool:
    """Whether a clause sets a variable that says where to go on, and does not test it itself."""
    inner = list(walk(clause))
    chosen = {choice[0] for stmt in inner if (choice := _choice(stmt)) is not None}
    if not chosen:
        return False
    tests = [stmt.test for stmt in inner if isinstance(stmt, (If, While))]
    return not chosen <= {(part.purpose, part.number) for part in walk_own(tests) if isinstance(part, Temp)}


def _choice(stmt: Stmt) -> Choice | None:
    """What a statement sets a variable to that says where to go on; None if it is another statement."""
    if not isinstance(stmt, Assign) or len(stmt.targets) != 1 or not isinstance(stmt.value, Const):
        return None
    target = stmt.targets[0]
    if not isinstance(target, Temp) or target.purpose not in _CHOOSING:
        return None
    return (target.purpose, target.number), stmt.value.value


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
            way, written = _left_for(stmt)
            if way is None or way[0] == inside:
                continue
            end = make_label(LabelKind.STATEMENT_END, self.count)
            self.count += 1
            # what follows a block that ends in the statement is its ``else``
            first = _moved(body[i : i + 1], way, end, written)  # by one statement after it: no clause can hold that
            made = Block(end, self.run((*first, *_moved(body[i + 1 :], way, end)), end))
            label, choices = way
            chosen = [Assign((Temp(number, purpose),), Const(value)) for (purpose, number), value in choices]
            return (*self._inner(body[:i]), made, *chosen, Exit(label, written=written))
        return self._inner(body)

    @any_depth
    def _inner(self, body: Body) -> Body:
        return tuple(with_bodies(stmt, lambda inner: self.run(inner)) if bodies(stmt) else stmt for stmt in body)


def _moved(body: Body, way: Way, end: int, written: bool = False) -> Body:
    """``body`` with an exit to ``end`` for each that goes there; ``written``: also for those that have a line."""
    label, choices = way

    def change(stmts: list[Stmt]) -> Body:
        last = stmts[-1] if stmts else None
        if not isinstance(last, Exit) or last.label != label or last.written and not written:
            return tuple(stmts)
        before = len(stmts) - 1 - len(choices)
        if before < 0 or tuple(map(_choice, stmts[before:-1])) != choices:
            return tuple(stmts)
        return (*stmts[:before], Exit(end))

    return map_lists(body, change)


def _ways(body: Body) -> Iterator[tuple[Way, bool]]:
    """How exits in ``body`` leave it, and whether they have a line of their own."""
    inner = list(walk(body))
    own = {stmt.label for stmt in inner if isinstance(stmt, (Block, Loop))}
    for stmts in (body, *(part for stmt in inner for part in bodies(stmt))):
        choices: list[Choice] = []
        for stmt in stmts:
            choice = _choice(stmt)
            if choice is not None:
                choices.append(choice)
                continue
            if isinstance(stmt, Exit) and stmt.label not in own:
                yield (stmt.label, tuple(choices)), stmt.written
            choices = []


def _left_for(stmt: Stmt) -> tuple[Way | None, bool]:
    """Which way all such clauses of a ``try``, at the end of ``stmt`` or all of it, go on if it is one; and whether a
    ``continue`` or the like is what leads there.
    """
    around: set[int] = set()
    while isinstance(stmt, Block) and stmt.body:
        around.add(stmt.label)
        stmt = stmt.body[-1]
    falling = _falling(stmt.handlers) if isinstance(stmt, Try) else set()
    if falling:
        first = falling.pop()
        return None if falling or first in around else (first, ()), False
    found: set[Way] = set()
    written = False
    for handler in stmt.handlers if isinstance(stmt, Try) else ():
        _, tests = forgotten(handler.body)
        while len(tests) == 1 and isinstance(tests[0], If) and _is_star(tests[0]):
            for way, has_line in _ways(tests[0].body):
                found.add(way)
                written = written or has_line
            tests = tests[0].orelse
    only = found.pop() if len(found) == 1 else None
    return None if only is None or only[0] in around else only, written


def _falling(handlers: Sequence[ExceptClause]) -> set[int]:
    """Where the exits at the ends of handlers lead of which it is known that the handler is left first."""
    clauses = tuple(stmt for handler in handlers for stmt in handler.body)
    inner = [stmt for stmt, _ in walk_within(clauses, True, _in_clause)]
    own = {within.label for within in inner if isinstance(within, (Block, Loop))}
    return {within.label for within in inner if isinstance(within, Exit) and within.falls and not within.written} - own


def _in_clause(stmt: Stmt, _: bool, at: int) -> bool | None:
    """Leaves out the clauses of a ``try`` inside, whose ends are theirs."""
    return None if isinstance(stmt, Try) and 0 < at <= len(stmt.handlers) else True


def _is_star(stmt: If) -> bool:
    return isinstance(stmt.test, ExceptTest) and stmt.test.star
