"""Chooses ``return``, ``return None``, ``pass`` or nothing at the end of a function: the bytecode is the same.

On separate lines the columns of the location table tell them apart (3.11+).  Input and output: the Python dialect.
"""

from __future__ import annotations

from dataclasses import replace

from depyf.decompiler.bytecode.codeunit import CO_ASYNC_GENERATOR, CO_OPTIMIZED
from depyf.decompiler.bytecode.tables.columns import Columns
from depyf.decompiler.idioms.leaving_finally import unbinds
from depyf.decompiler.ir.expr import Const, Expr
from depyf.decompiler.ir.stmt import Body, If, Match, PassStmt, Return, Stmt, Try, With
from depyf.decompiler.ir.transformer import map_statements
from depyf.decompiler.ir.walk_stmt import walk, with_bodies
from depyf.decompiler.structure.exits import ends
from depyf.safety.depth import any_depth
from depyf.safety.rewrites import step


def final_return(columns: Columns, body: Body, *, idioms: bool) -> Body:
    """``body`` without the implicit ``return`` at its end; the others say ``None`` where the source did.

    In an asynchronous generator none may say so.  Without ``idioms`` it is not known which returns are implicit: a
    ``return`` at the very end is dropped then.
    """
    returns = [stmt for stmt in walk(body) if isinstance(stmt, Return)]
    valued = any(not _is_none(stmt.value) for stmt in returns)
    dropped = _End(columns, idioms, valued).drop(body)
    silent = not columns.unit.flags & CO_ASYNC_GENERATOR and any(stmt.value is None for stmt in returns)
    return _say_none(columns, dropped, valued) if silent else dropped


def say_ellipsis(columns: Columns, body: Body) -> Body:
    """``body`` with ``...`` for ``pass`` where the source said so."""
    if not body:
        return (PassStmt(dots=True),) if columns.ends_with_ellipsis else body
    passes = [stmt for stmt in walk(body) if type(stmt) is PassStmt]
    if not any(columns.is_ellipsis(stmt.line) for stmt in passes):
        return body

    def say(stmt: Stmt) -> Stmt:
        said = isinstance(stmt, PassStmt) and columns.is_ellipsis(stmt.line)
        return PassStmt(stmt.line, dots=True) if said else stmt

    return map_statements(body, say)


def _say_none(columns: Columns, body: Body, valued: bool) -> Body:
    """``return`` says ``None`` where the source did; where that is not known, if other returns have a value (PEP 8)."""

    def say(stmt: Stmt) -> Stmt:
        if not isinstance(stmt, Return) or stmt.value is not None:
            return stmt
        word = columns.word(stmt.line) or columns.last_word(stmt.line)
        says = valued if word not in ("return", "return None") else word == "return None"
        return replace(stmt, value=Const(None)) if says else stmt

    return map_statements(body, say)


class _End:
    """The end of one function; ``valued`` where it returns a value elsewhere."""

    def __init__(self, columns: Columns, idioms: bool, valued: bool) -> None:
        self.columns = columns
        self.optimized = bool(columns.unit.flags & CO_OPTIMIZED)
        self.idioms = idioms
        self.valued = valued

    @any_depth
    def drop(self, body: Body, finally_line: int | None = None) -> Body:
        """Drop a ``return None`` at the very end, unless it is in the source; ``finally_line`` as in ``_falls_off``."""
        if not body:
            return body
        last = body[-1]
        if isinstance(last, Return) and _is_none(last.value):
            if self.optimized and self.idioms and not _falls_off(body, finally_line):
                return body
            step("drop the return at the end", last)
            if self.optimized and not self.idioms:
                return body[:-1]
            return self.drop(body[:-1])
        if isinstance(last, If):
            first = self.drop(last.body, finally_line) or (PassStmt(last.line),)
            return (*body[:-1], If(last.test, first, self.drop(last.orelse, finally_line), last.line))
        if isinstance(last, Match):
            return (*body[:-1], with_bodies(last, lambda inner: self._drop_inside(inner, finally_line, case=True)))
        if isinstance(last, (Try, With)):
            final = last.final if isinstance(last, Try) else ()
            lines = [stmt.line for stmt in walk(final) if stmt.line is not None]
            finally_line = min(lines + ([] if finally_line is None else [finally_line]), default=None)
            alone = isinstance(last, Try) and ends(last.body)
            changed = with_bodies(last, lambda inner: self._drop_inside(inner, finally_line, alone=alone))
            if isinstance(changed, Try) and isinstance(last, Try) and self.optimized:
                pairs = zip(last.handlers, changed.handlers, strict=True)
                handlers = tuple(old if unbinds(self.columns.unit, old) else new for old, new in pairs)
                changed = replace(changed, final=last.final, handlers=handlers)  # there it would drop the exception
            if isinstance(changed, Try) and isinstance(last, Try) and last.orelse:
                changed = replace(changed, body=last.body)  # the ``else`` follows
            return (*body[:-1], changed)
        return body

    def _drop_inside(self, body: Body, finally_line: int | None, case: bool = False, alone: bool = False) -> Body:
        """``case`` says that it is the body of one: where no column tells, ``return`` is as likely as ``pass`` there.

        ``alone``: it may be a handler of a ``try`` whose body leaves.  Other paths to the code after the ``finally``
        would share their end with a handler that says ``pass``; here there are none.
        """
        if finally_line is None and self._says_pass(body, case):
            return (PassStmt(body[0].line),)
        if self.optimized and body and isinstance(body[-1], Return) and not _falls_off(body, finally_line):
            return body
        dropped = self.drop(body, finally_line)
        line = body[0].line if body else None
        if (
            not dropped
            and alone
            and self.idioms
            and finally_line is not None
            and line is not None
            and line >= finally_line
        ):
            return (PassStmt(),)  # it has the line of the ``finally`` body, which has no ``return``
        return dropped or body

    def _says_pass(self, body: Body, case: bool) -> bool:
        """Whether the ``return`` that a body consists of reads better as ``pass``."""
        if not self.idioms or len(body) != 1 or not isinstance(body[0], Return) or not _is_none(body[0].value):
            return False
        word = self.columns.word(body[0].line)
        return word == "pass" or word is None and not self.valued and not case


def _falls_off(body: Body, finally_line: int | None) -> bool:
    """Whether the ``return`` at the end of ``body`` has no separate line: it is implicit.

    ``finally_line`` is the first line of the ``finally`` body that runs before it.
    """
    if not body or not isinstance(body[-1], Return) or not _is_none(body[-1].value):
        return False
    if body[-1].implicit:
        return True
    lines = [stmt.line for stmt in walk(body[-2:-1]) if stmt.line is not None]
    line = body[-1].line
    return line is None or (finally_line is not None and line >= finally_line) or bool(lines and line <= max(lines))


def _is_none(value: Expr | None) -> bool:
    return value is None or (isinstance(value, Const) and value.value is None)
