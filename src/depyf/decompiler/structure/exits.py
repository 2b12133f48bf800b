"""Where control goes at the end of statements, in the labelled dialect and in the Python dialect."""

from __future__ import annotations

from collections.abc import Sequence

from depyf.decompiler.ir.expr import Const
from depyf.decompiler.ir.markers import ManagerClause, Marker, Reraise
from depyf.decompiler.ir.stmt import (
    Block,
    Body,
    Break,
    Continue,
    Exit,
    ExprStmt,
    For,
    If,
    Loop,
    Match,
    Raise,
    Return,
    Stmt,
    Try,
    While,
    With,
)
from depyf.decompiler.ir.transformer import Transformer
from depyf.decompiler.ir.walk_stmt import COMPOUND, bodies, walk, walk_within
from depyf.decompiler.structure.match.match_statements import irrefutable
from depyf.safety.depth import any_depth, spend

Labels = frozenset[int]
NOWHERE: Labels = frozenset()

_ENDS: dict[Stmt, bool] = {}
_EXITS: dict[Stmt, Labels] = {}
_ALONE: dict[int, Labels] = {}
"""Caches for the statements of the function being lowered, and for each label the set of it alone."""


@any_depth
def ends(body: Sequence[Stmt]) -> bool:
    """Whether control never reaches the end of ``body``."""
    arms: list[If] = []
    result = False
    while body:
        last = body[-1]
        if not isinstance(last, If):
            result = _statement_ends(last)
            break
        known = _ENDS.get(last)
        if known is not None:
            result = known
            break
        arms.append(last)
        body = last.orelse  # an ``elif`` chain may be as long as the function
    for stmt in reversed(arms):
        result = result and ends(stmt.body)
        _ENDS[stmt] = result
    return result


def _statement_ends(last: Stmt) -> bool:
    if isinstance(last, (Return, Raise, Exit, Break, Continue)):
        return True
    if isinstance(last, ExprStmt) and isinstance(last.value, Marker):
        return isinstance(last.value, Reraise)
    if isinstance(last, Loop):
        return True
    if isinstance(last, Block):
        return ends(last.body) and not exits_to(last.body, last.label)
    if isinstance(last, (While, For)):
        if isinstance(last, While) and isinstance(last.test, Const) and last.test.value is True:
            return not breaks_out(last.body)
        # before it is lowered, the first statement there names the label of the loop
        exhausted = last.orelse[1:] if last.orelse and isinstance(last.orelse[0], Exit) else last.orelse
        return ends(exhausted) and not breaks_out(last.body)
    if isinstance(last, With):
        return False
    if isinstance(last, Match):
        final = last.cases[-1]
        return final.guard is None and irrefutable(final.pattern) and all(ends(case.body) for case in last.cases)
    if isinstance(last, Try):
        if last.star or any(isinstance(c.type, ManagerClause) for c in last.handlers):
            return False  # a manager may suppress an exception, and so may, to the compiler, clauses that all raise
        if last.final and ends(last.final):
            return True
        main = ends(last.orelse) if last.orelse else ends(last.body)
        return main and all(ends(clause.body) for clause in last.handlers)
    return False


def breaks_out(body: Body) -> bool:
    """Whether a ``break`` in ``body`` leaves the loop around."""
    return any(isinstance(stmt, Break) for stmt, _ in walk_within(body, True, _same_loop))


def _same_loop(stmt: Stmt, around: bool, at: int) -> bool | None:
    return None if isinstance(stmt, (While, For, Loop)) and at == 0 else around


def exits_to(body: Body, label: int) -> bool:
    return any(label in exits_of(stmt) for stmt in body)


def exits_of(stmt: Stmt) -> Labels:
    """The labels of all exits in a statement.  Cached: flags ask for the same statements once per label."""
    if isinstance(stmt, Exit):
        alone = _ALONE.get(stmt.label)
        if alone is None:
            alone = _ALONE[stmt.label] = frozenset({stmt.label})
        return alone
    if type(stmt) not in COMPOUND:
        return NOWHERE
    known = _EXITS.get(stmt)
    return _exits_inside(stmt, bodies(stmt)) if known is None else known


@any_depth
def _exits_inside(stmt: Stmt, inner: tuple[Body, ...]) -> Labels:
    found = [labels for body in inner for labels in map(exits_of, body) if labels]
    # share the set of a part that has all labels
    most = max(found, key=len, default=NOWHERE)
    if all(labels <= most for labels in found):
        result = most
    else:
        result = most.union(*found)
        spend(4 * len(result))
    _EXITS[stmt] = result
    return result


def exit_labels(body: Body) -> set[int]:
    return {stmt.label for stmt in walk(body) if isinstance(stmt, Exit)}


def unwritten(body: Body, loop: int | None) -> set[int]:
    """``exit_labels`` without those to ``loop`` that are a ``continue`` in the source."""
    found = (stmt for stmt in walk(body) if isinstance(stmt, Exit))
    return {stmt.label for stmt in found if not (stmt.written and stmt.label == loop)}


def leaving(body: Body) -> set[int]:
    """The labels of the exits that leave ``body``."""
    found: set[int] = set()
    inside: set[int] = set()
    for stmt in walk(body):
        if isinstance(stmt, Exit):
            found.add(stmt.label)
        elif isinstance(stmt, (Block, Loop)):
            inside.add(stmt.label)
        elif isinstance(stmt, (For, While)) and stmt.orelse and isinstance(stmt.orelse[0], Exit):
            inside.add(stmt.orelse[0].label)
    return found - inside


def forget() -> None:
    """Clear the caches of a function that is finished."""
    _ENDS.clear()
    _EXITS.clear()
    _ALONE.clear()


def first_line(body: Body) -> int | None:
    return next((stmt.line for stmt in walk(body) if stmt.line is not None), None)


def fall_labels(first: Stmt) -> Labels:
    """Labels that mean "go on with ``first``"."""
    if isinstance(first, Exit):
        return frozenset({first.label})
    return NOWHERE


def with_copies(body: Body, label: int, tail: Body) -> Body:
    """``body`` with a copy of ``tail``, what follows a label, at each exit to it."""
    return _Copied(label, tail).run(body)


class _Copied(Transformer):
    """See ``with_copies``."""

    title = "copy what follows a block to an exit"

    def __init__(self, label: int, tail: Body) -> None:
        self.label = label
        self.tail = tail

    def leave(self, stmt: Stmt, done: list[Stmt]) -> None:
        done.extend(self.tail if isinstance(stmt, Exit) and stmt.label == self.label else (stmt,))
