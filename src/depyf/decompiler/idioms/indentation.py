"""How far statements were indented in the source, where the location table tells (3.11+).

A line's first column is that of its first instruction: for most statements that of the statement, for the others some
places to the right of it, by the length of their keyword.  It decides what no instruction tells: whether a statement
after one that leaves stood in its ``else``.

    if a:             if a:
        return b          return b
    else:         or  return c
        return c
"""

from __future__ import annotations

from collections.abc import Sequence
from types import NoneType

from depyf.decompiler.bytecode.tables.columns import STEP, Columns
from depyf.decompiler.ir.expr import BoolOf, Cmp, Const, Display, Expr, Name, Un, Walrus
from depyf.decompiler.ir.stmt import (
    AnnAssign,
    Assert,
    Assign,
    AugAssign,
    Body,
    Break,
    Continue,
    Delete,
    ExprStmt,
    For,
    If,
    Import,
    ImportFrom,
    Match,
    PassStmt,
    Raise,
    Return,
    Stmt,
    Try,
    While,
    With,
)
from depyf.decompiler.ir.walk_stmt import bodies
from depyf.safety.depth import any_depth

_EXACT = (Assign, AnnAssign, AugAssign, ExprStmt, Return, Raise, Import, ImportFrom, Assert, PassStmt, Break, Continue)
_KEYWORDS: dict[type[Stmt], int] = {If: 3, While: 6, Delete: 4, Match: 6}
"""How far to the right of its start the column of a statement is, at least."""
_NOT = 4
_ASYNC = 6
_RETURN = 7


class Indents:
    """The indentation of the statements of one function; ``None`` wherever it is not known."""

    def __init__(self, columns: Columns) -> None:
        self.unit = columns.unit
        self.columns = columns

    def level(self, body: Body) -> int | None:
        """How far the statements of ``body`` are indented."""
        for stmt in body:
            if isinstance(stmt, Return) and self.unit.exctable:
                continue  # it may have the line of the clean-up before it
            if isinstance(stmt, Return) and (stmt.value is None or isinstance(stmt.value, Const)):
                column = self._column(stmt)  # that of the constant
                if column is None or (column - _RETURN) % STEP:
                    continue
                return column - _RETURN
            if isinstance(stmt, Assert) and (keyword := self.columns.after_assert):
                column = self._column(stmt)
                if column is None:
                    continue
                if isinstance(stmt.test, Cmp) or column % STEP == keyword % STEP:
                    column -= keyword  # that of the test, which may stand on a separate line
                if column % STEP == 0:
                    return column
                continue
            if isinstance(stmt, _EXACT) and not isinstance(stmt, ExprStmt) and not _unpacks(stmt):
                return self._column(stmt)
            if isinstance(stmt, If) and not stmt.orelse:
                return self.around(stmt)
            if isinstance(stmt, Try):
                inner = self.first(stmt.body)
                if inner is not None:
                    return inner - STEP
            if isinstance(stmt, For) and stmt.body and (stmt.body[0].line or 0) > (stmt.line or 0):
                inner = self.first(stmt.body)
                if inner is not None:
                    return inner - STEP
        return None

    @any_depth
    def around(self, stmt: If) -> int | None:
        """How far ``stmt`` is indented, by what is in it."""
        if not stmt.body or (stmt.body[0].line or 0) <= (stmt.line or 0):
            return None  # all on one line, or a ``return`` with the line of the ``with`` that it leaves
        inner = self.level(stmt.body)
        depth = self.depth(stmt) if isinstance(stmt.test, BoolOf) and stmt.test.op == "and" else 1
        return None if inner is None else inner - STEP * max(depth or 1, 1)

    def first(self, body: Body) -> int | None:
        """How far the first of the statements is indented; its line is known to be its own."""
        head = body[0] if body else None
        if isinstance(head, ExprStmt) or isinstance(head, Return) and not isinstance(head.value, (Const, NoneType)):
            return self._column(head)
        return self.level(body[:1])

    def depth(self, stmt: If) -> int | None:
        """How many steps the body of ``stmt`` is indented deeper than ``stmt`` itself."""
        level, column = self.first(stmt.body), self._column(stmt)
        if level is None or column is None or (stmt.body[0].line or 0) <= (stmt.line or 0):
            return None
        if isinstance(stmt.body[0], ExprStmt) and level % STEP == 1:
            level -= 1  # ``(yield a)``
        right = level - column + _KEYWORDS[If] + _leading_name(stmt.test) + _NOT * _leading_nots(stmt.test, least=True)
        return -(-right // STEP)  # it is less by two places for ``elif`` and by one for a parenthesis

    def is_one_with(self, stmt: With, inner: With) -> bool:
        """Whether ``inner``, all there is in ``stmt``, continues its items: the body is indented by one step only."""
        level, column, width = self.first(inner.body), self._column(stmt), self._width(stmt)
        if level is None or column is None or width is None or (inner.body[0].line or 0) <= (inner.line or 0):
            return False
        keyword = column - width - (_ASYNC if stmt.is_async and width else 0)
        return level - keyword <= STEP + 1  # the first item may stand on a separate line, after a parenthesis

    def is_elif(self, stmt: Stmt, level: int) -> bool:
        """Whether ``stmt``, in the ``else`` of an ``if`` at ``level``, is an ``elif`` of it."""
        column = self._column(stmt) if isinstance(stmt, If) else None
        if column is None or not isinstance(stmt, If):
            return False
        right = column - level - _leading_name(stmt.test) - _NOT * _leading_nots(stmt.test, least=True)
        return _KEYWORDS[If] < right < _KEYWORDS[If] + STEP

    def in_else(self, stmt: Try, rest: Sequence[Stmt]) -> int:
        """How many statements of ``rest``, which follow ``stmt``, are indented like its body."""
        level = self.first(stmt.body)
        if level is None:
            return 0
        for count, after in enumerate(rest):
            if self.is_at(after, level - STEP) is not False:
                return count
        return len(rest)

    @any_depth
    def is_at(self, stmt: Stmt, level: int) -> bool | None:
        """Whether ``stmt`` begins at ``level``, rather than deeper; an ``elif`` counts as deeper."""
        if isinstance(stmt, Return) and stmt.implicit:
            return None  # it stands nowhere
        endless = (
            isinstance(stmt, While) and isinstance(stmt.test, Const) and stmt.test.value is True
        )  # of ``while True`` nothing is left
        if (endless or isinstance(stmt, Try)) and (inner := bodies(stmt)[0]):
            return self.is_at(inner[0], level + STEP)
        column, width = self._column(stmt), self._width(stmt)
        if column is None or width is None:
            return None
        right = column - level - width
        if isinstance(stmt, Return) and right >= _RETURN:
            right -= _RETURN  # the place is that of the constant
        if isinstance(stmt, (For, With)) and stmt.is_async and width:
            right -= _ASYNC
        if _unpacks(stmt) and right > 1:
            return None
        if isinstance(stmt, (If, While)) and right >= _NOT:
            right -= _leading_name(stmt.test)
            body = self.level(stmt.body)
            if body is not None and body >= level + (1 + _tests(stmt.test)) * STEP:
                return False
            right -= _NOT * _leading_nots(stmt.test)
            if body is None:
                return 0 <= right <= 1
            if not 0 <= right < _NOT:
                return None  # the line goes on with the test, its keyword is above
        return right <= 1  # one place for a parenthesis

    def _column(self, stmt: Stmt) -> int | None:
        if stmt.line is None:
            return None
        # a branch may have the place of the whole statement
        whole = isinstance(stmt, (If, While, Match))
        return (self.columns.first if whole else self.columns.least).get(stmt.line)

    def _width(self, stmt: Stmt) -> int | None:
        """How far to the right of its start the column of a statement is, at least."""
        if isinstance(stmt, For):
            return self.columns.after_for
        if isinstance(stmt, With):
            return self.columns.after_with
        if isinstance(stmt, Assert):
            return self.columns.after_assert
        return 0 if isinstance(stmt, _EXACT) else _KEYWORDS.get(type(stmt))


def _unpacks(stmt: Stmt) -> bool:
    """Whether a statement exchanges values without a tuple: it depends on the version to which of its names its column
    belongs."""
    unpacks = isinstance(stmt, Assign) and any(isinstance(target, Display) for target in stmt.targets)
    return unpacks and isinstance(stmt, Assign) and isinstance(stmt.value, Display)


def _tests(test: Expr) -> int:
    """The maximum number of nested ``if`` that one test may come from."""
    return len(test.values) if isinstance(test, BoolOf) and test.op == "and" else 1


def _leading_name(test: Expr) -> int:
    """The width of ``(name := `` before the first operand of a test."""
    while isinstance(test, (BoolOf, Cmp)):
        test = test.values[0] if isinstance(test, BoolOf) else test.left
    return len(f"({test.target.id} := ") if isinstance(test, Walrus) and isinstance(test.target, Name) else 0


@any_depth
def _leading_nots(test: Expr, *, least: bool = False) -> int:
    """How many ``not`` may stand before the first operand of a test, or stand there at ``least``.

    ``not a in b`` is ``a not in b``.
    """
    count = 0
    while True:
        if isinstance(test, Un) and test.op == "not":
            test, count = test.operand, count + 1
        elif isinstance(test, BoolOf):
            test = test.values[0]
        elif isinstance(test, Cmp):
            return count + (not least and test.ops[0] in ("not in", "is not"))
        else:
            return count
