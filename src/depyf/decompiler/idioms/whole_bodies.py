"""The statements of a whole body as the source had them: ``assert``, branches, ``else`` of a ``try``, ``finally``.

Input and output: the Python dialect.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace

from depyf.decompiler.bytecode.codeunit import CO_OPTIMIZED, CodeUnit
from depyf.decompiler.bytecode.tables.columns import Columns
from depyf.decompiler.idioms.branches import Branches, last_line
from depyf.decompiler.idioms.leaving_finally import leaving_finally
from depyf.decompiler.ir.expr import BoolOf, Const, Expr, Invoke, Name, Un
from depyf.decompiler.ir.markers import CommonConstant
from depyf.decompiler.ir.stmt import (
    Assert,
    Body,
    For,
    If,
    Raise,
    Return,
    Stmt,
    Try,
    While,
    With,
)
from depyf.decompiler.ir.walk_stmt import COMPOUND, bodies, with_bodies
from depyf.decompiler.lift.negation import negate
from depyf.safety.depth import any_depth
from depyf.safety.rewrites import step

_FINISHED = COMPOUND | {Raise, Return}
"""Statements that may be others when they are finished."""


def finish_statements(columns: Columns, body: Body, *, indents: bool = True) -> Body:
    """``body`` with the ``assert``, ``else`` and nesting that the source had; ``indents``: columns tell how deep."""
    return _statements(body, Branches(columns, indents=indents))


def _statements(body: Body, branches: Branches, level: int | None = None) -> Body:
    """``level`` is the indentation of ``body``, if it is known."""
    return tuple(_finished(body, branches, level))


@any_depth
def _finished(body: Body, branches: Branches, level: int | None) -> deque[Stmt]:
    """Finishes ``body`` from its end: the ``else`` of its last ``if`` may be all the rest of the function, which must
    not be copied."""
    result: list[Stmt] = []
    tail: deque[Stmt] = deque()
    end = len(body)
    level = branches.level(body, level)
    tried, seen = None, 0
    for i, stmt in enumerate(body):
        if i >= end:
            break
        if type(stmt) not in _FINISHED:
            result.append(stmt)
            continue
        if isinstance(stmt, Try):
            before = stmt
            stmt, end = leaving_finally(branches.unit, stmt, body, i + 1)
            if stmt is not before:
                step("take the copies of a finally out", stmt)
        if isinstance(stmt, If):
            tried = next((other for other in reversed(result[seen:]) if isinstance(other, Try)), tried)
            seen = len(result)
            finished = _finished_if(stmt, branches, branches.in_else_of_try(stmt, tried, level))
            if i + 1 == end:
                tail = finished
            else:
                result.extend(finished)
            continue
        if bodies(stmt):
            loop = isinstance(stmt, (For, While))
            branches.loops += loop
            stmt = with_bodies(stmt, lambda inner: _statements(inner, branches))
            branches.loops -= loop
            if isinstance(stmt, (For, While)):
                stmt = replace(stmt, body=branches.loop_body(stmt.body))
        if isinstance(stmt, Try):
            stmt = branches.one_try(stmt)
        if isinstance(stmt, With):
            stmt = branches.one_with(stmt)
        if isinstance(stmt, Raise):
            result.append(_assertion(If(Const(True), (stmt,), (), stmt.line), branches.unit) or stmt)
            continue
        if isinstance(stmt, Return) and isinstance(stmt.value, Const) and stmt.value.value is None:
            stmt = replace(stmt, value=None)
        result.append(stmt)
    for stmt in reversed(result):
        tail.appendleft(stmt)
        if isinstance(stmt, Try):
            branches.with_else(tail)
    return tail


def _finished_if(stmt: If, branches: Branches, level: int | None) -> deque[Stmt]:
    stmt, orelse = _arms(stmt, branches, level)
    asserted = _assertion(stmt, branches.unit, others=bool(orelse))
    if asserted is None:
        return branches.flat_if(stmt, orelse, level)
    if len(orelse) == 1 and isinstance(inner := orelse[0], If):
        orelse = branches.flat_if(replace(inner, orelse=()), deque(inner.orelse), level)
    orelse.appendleft(branches.nested(asserted))
    return orelse


@any_depth
def _arms(stmt: If, branches: Branches, level: int | None) -> tuple[If, deque[Stmt]]:
    """``stmt`` without its ``else``, and the ``else``; both finished.

    A test on the line after the first arm stays one statement: there is no room for ``else``.
    """
    body, orelse = _statements(stmt.body, branches), stmt.orelse
    level = branches.level_of(stmt, level)
    inner = orelse[0] if len(orelse) == 1 else None
    if isinstance(inner, If) and stmt.body and (inner.line or 0) == last_line(stmt.body) + 1:
        inner, others = _arms(inner, branches, level)
        asserted = _assertion(inner, branches.unit, others=bool(others))
        if asserted is None:
            others = deque([branches.nested(replace(inner, orelse=tuple(others)))])
        else:
            others.appendleft(branches.nested(asserted))
    else:
        others = _finished(orelse, branches, branches.level_of_else(stmt, level))
    return If(stmt.test, body, (), stmt.line), others


@any_depth
def _assertion(stmt: If, unit: CodeUnit, *, others: bool = False) -> Stmt | None:
    """``if not a: raise AssertionError``, where the error was loaded by the dedicated instruction.

    ``others``: it has an ``else``, which is not in ``stmt``.

    Before there was one, an ``assert`` is a test with its ``raise`` on the same line, or before.  One on a later line
    is in an ``if``: ``if a:`` / ``assert b``, for which ``assert not a or b`` is the same code.
    """
    test = stmt.test
    if isinstance(test, BoolOf) and test.op == "and" and _is_later(stmt):
        inner = _assertion(If(test.values[-1], stmt.body, (), stmt.body[0].line), unit)
        if inner is not None:
            last = len(test.values) - 1
            deeper = tuple([each for each in test.deeper if each[0] < last])
            first = BoolOf("and", test.values[:-1], deeper=deeper) if last > 1 else test.values[0]
            return If(first, (inner,), (), stmt.line)
    made = _assert(stmt, unit, others)
    if made is not None:
        step("make an assert of a test that raises", made)
    return made


def _is_later(stmt: If) -> bool:
    return len(stmt.body) == 1 and (stmt.body[0].line or 0) > (stmt.line or 0) > 0


def _assert(stmt: If, unit: CodeUnit, others: bool) -> Stmt | None:
    raised, test = stmt.body, _negated(stmt.test)
    if len(raised) == 1 and isinstance(raised[0], Assert):
        inner = raised[0]
        return Assert(test, inner.message, _first(stmt, inner)) if _never(inner.test) else None
    if len(raised) != 1 or not isinstance(raised[0], Raise) or raised[0].cause is not None:
        return None
    exc = raised[0].exc
    message: Expr | None = None
    if isinstance(exc, Invoke) and len(exc.args) == 1 and not exc.keywords:
        message, exc = exc.args[0], exc.func
    if isinstance(exc, CommonConstant) and exc.name == "AssertionError":
        return None if others else Assert(test, message, _first(stmt, raised[0]))
    if unit.asserts_by_name and isinstance(exc, Name) and (exc.id, exc.scope) == ("AssertionError", "global"):
        # what an ``if`` raises is not in front of its test: ``assert (`` over several lines
        together = stmt.line is not None and 0 < (raised[0].line or 0) <= stmt.line and not isinstance(stmt.test, Const)
        if together or not unit.flags & CO_OPTIMIZED:  # where no name in the source can be looked up like that
            return Assert(test, message, _first(stmt, raised[0]))
    return None


def _first(stmt: If, raised: Raise | Assert) -> int | None:
    """The line of an ``assert``: that of its ``raise``, where the test is on separate lines."""
    lines = [line for line in (stmt.line, raised.line) if line is not None]
    return min(lines) if stmt.line is not None and lines else stmt.line


def _never(test: Expr) -> bool:
    return isinstance(test, Const) and test.value is False


@any_depth
def _negated(test: Expr) -> Expr:
    if isinstance(test, Un) and test.op == "not":
        return test.operand
    if isinstance(test, Const):
        return Const(not test.value)
    if isinstance(test, BoolOf):
        negatives = [value for value in test.values if isinstance(value, Un) and value.op == "not"]
        if len(negatives) == len(test.values):
            return BoolOf("or" if test.op == "and" else "and", tuple(_negated(value) for value in test.values))
    return negate(test)
