"""Whole-body idioms: what the compiler adds around every function, module and class body.

Input and output: the Python dialect.
"""

from __future__ import annotations

from dataclasses import replace

from depyf.bytecode.codeunit import CO_OPTIMIZED, CodeUnit
from depyf.idioms.annotation_traces import restore_traces
from depyf.idioms.annotations import place_annotations
from depyf.idioms.branches import Branches, last_line
from depyf.idioms.class_body import class_body
from depyf.idioms.eager_annotations import eager_annotations, is_mark
from depyf.idioms.leaving_finally import leaving_finally
from depyf.lift.conditions import negate
from depyf.tree.expr import BoolOf, Const, Expr, Invoke, Marker, Name, Un
from depyf.tree.nodes import (
    Assert,
    Body,
    For,
    If,
    Pass,
    Raise,
    Return,
    Stmt,
    Try,
    While,
    With,
)
from depyf.tree.rewrite import bodies, walk, with_bodies


def finish_body(unit: CodeUnit, body: Body, *, idioms: bool = True) -> Body:
    """Implicit returns, asserts, annotations, class prologue and empty bodies.

    Without ``idioms`` it is not known which returns are implicit: a ``return`` at the very end says nothing then.
    """
    is_class = not unit.flags & CO_OPTIMIZED and unit.name != "<module>"
    prepared = False
    if not unit.flags & CO_OPTIMIZED:
        prepared = any(is_mark(stmt) for stmt in body)
        body = eager_annotations(unit, place_annotations(body, is_class))
    body = _statements(body, Branches(unit, indents=idioms))
    if is_class:
        body = class_body(unit, body)
    body = _drop_final_return(body, unit, idioms)
    values = [stmt.value for stmt in walk(body) if isinstance(stmt, Return)]
    if None in values and any(values):
        body = _say_none(body)
    return body if unit.flags & CO_OPTIMIZED else restore_traces(unit, body, prepared)


def _say_none(body: Body) -> Body:
    """Where other returns have a value, ``return`` says ``None`` (PEP 8)."""
    result: list[Stmt] = []
    for stmt in body:
        if isinstance(stmt, Return) and stmt.value is None:
            stmt = replace(stmt, value=Const(None))
        result.append(with_bodies(stmt, _say_none) if bodies(stmt) else stmt)
    return tuple(result)


def _is_none(value: Expr | None) -> bool:
    return value is None or (isinstance(value, Const) and value.value is None)


def _drop_final_return(body: Body, unit: CodeUnit, idioms: bool, behind: int | None = None) -> Body:
    """A ``return None`` at the very end says nothing, unless somebody wrote it; ``behind`` as in ``_falls_off``."""
    if not body:
        return body
    last = body[-1]
    if isinstance(last, Return) and _is_none(last.value):
        if unit.flags & CO_OPTIMIZED and idioms and not _falls_off(body, behind):
            return body
        if unit.flags & CO_OPTIMIZED and not idioms:
            return body[:-1]
        return _drop_final_return(body[:-1], unit, idioms)
    if isinstance(last, If):
        changed: Stmt = If(
            last.test,
            _drop_final_return(last.body, unit, idioms, behind) or (Pass(last.line),),
            _drop_final_return(last.orelse, unit, idioms, behind),
            last.line,
        )
        return (*body[:-1], changed)
    if isinstance(last, (Try, With)):
        optimized = unit.flags & CO_OPTIMIZED
        final = last.final if isinstance(last, Try) else ()
        lines = [stmt.line for stmt in walk(final) if stmt.line is not None]
        behind = min(lines + ([] if behind is None else [behind]), default=None)

        def drop(inner: Body) -> Body:
            if optimized and inner and isinstance(inner[-1], Return) and not _falls_off(inner, behind):
                return inner
            return _drop_final_return(inner, unit, idioms, behind) or inner

        changed = with_bodies(last, drop)
        if isinstance(changed, Try) and isinstance(last, Try) and optimized:
            changed = replace(changed, final=last.final)  # there it would drop the exception
        return (*body[:-1], changed)
    return body


def _falls_off(body: Body, behind: int | None) -> bool:
    """Whether the ``return`` at the end of ``body`` has no line of its own: nobody wrote it.

    ``behind`` is the first line of the ``finally`` body that runs before it.
    """
    if not body or not isinstance(body[-1], Return) or not _is_none(body[-1].value):
        return False
    if body[-1].implicit:
        return True
    lines = [stmt.line for stmt in walk(body[-2:-1]) if stmt.line is not None]
    line = body[-1].line
    return line is None or (behind is not None and line >= behind) or bool(lines and line <= max(lines))


def _statements(body: Body, branches: Branches, level: int | None = None) -> Body:
    """``level`` is the indentation of ``body``, if it is known."""
    result: list[Stmt] = []
    end = len(body)
    level = branches.level(body, level)
    unit = branches.unit
    for i, stmt in enumerate(body):
        if i >= end:
            break
        if isinstance(stmt, Try):
            stmt, end = leaving_finally(stmt, body, i + 1)
        if isinstance(stmt, If):
            stmt = _arms(stmt, branches, level)
        elif bodies(stmt):
            loop = isinstance(stmt, (For, While))
            branches.loops += loop
            stmt = with_bodies(stmt, lambda inner: _statements(inner, branches))
            branches.loops -= loop
        if isinstance(stmt, Try) and stmt.final and not stmt.handlers and len(stmt.body) == 1:
            inner = stmt.body[0]
            if isinstance(inner, Try) and inner.handlers and not inner.final:
                stmt = Try(inner.body, inner.handlers, inner.orelse, stmt.final, inner.star, stmt.line)
        if isinstance(stmt, With) and len(stmt.body) == 1:
            within = stmt.body[0]
            if isinstance(within, With) and within.is_async == stmt.is_async and within.line == stmt.line:
                stmt = With(stmt.items + within.items, within.body, stmt.is_async, stmt.line)
        if isinstance(stmt, If):
            asserted = _assertion(stmt, unit)
            if asserted is not None:
                result.append(asserted)
                after = stmt.orelse
                if len(after) == 1 and isinstance(after[0], If):
                    after = branches.flat_if(after[0], level)
                result.extend(after)
            else:
                result.extend(branches.flat_if(stmt, level))
            continue
        if isinstance(stmt, Raise):
            result.append(_assertion(If(Const(True), (stmt,), (), stmt.line), unit) or stmt)
            continue
        if isinstance(stmt, Return) and isinstance(stmt.value, Const) and stmt.value.value is None:
            stmt = replace(stmt, value=None)
        result.append(stmt)
    return tuple(result)


def _arms(stmt: If, branches: Branches, level: int | None) -> If:
    """Both arms finished; a test on the line after the first arm stays one statement: there is no room for ``else``."""
    body, orelse = _statements(stmt.body, branches), stmt.orelse
    level = branches.level_of(stmt, level)
    inner = orelse[0] if len(orelse) == 1 else None
    if isinstance(inner, If) and stmt.body and (inner.line or 0) == last_line(stmt.body) + 1:
        inner = _arms(inner, branches, level)
        asserted = _assertion(inner, branches.unit)
        return replace(stmt, body=body, orelse=(asserted, *inner.orelse) if asserted else (inner,))
    return replace(stmt, body=body, orelse=_statements(orelse, branches, branches.behind(stmt, level)))


def _assertion(stmt: If, unit: CodeUnit) -> Stmt | None:
    """``if not a: raise AssertionError``, where the error was loaded by the dedicated instruction.

    Before there was one, an ``assert`` is a test with its ``raise`` on the same line.
    """
    raised, test = stmt.body, _negated(stmt.test)
    if len(raised) == 1 and isinstance(raised[0], Assert):
        inner = raised[0]
        return Assert(test, inner.message, stmt.line) if isinstance(inner.test, Const) else None
    if len(raised) != 1 or not isinstance(raised[0], Raise) or raised[0].cause is not None:
        return None
    exc = raised[0].exc
    message: Expr | None = None
    if isinstance(exc, Invoke) and len(exc.args) == 1 and not exc.keywords:
        message, exc = exc.args[0], exc.func
    if isinstance(exc, Marker) and exc.kind == "common" and exc.detail == "AssertionError":
        return None if stmt.orelse else Assert(test, message, stmt.line)
    if unit.asserts_by_name and isinstance(exc, Name) and (exc.id, exc.scope) == ("AssertionError", "global"):
        one_line = stmt.line is not None and raised[0].line == stmt.line and not isinstance(stmt.test, Const)
        if one_line or not unit.flags & CO_OPTIMIZED:  # where nobody can have written a name that is looked up so
            return Assert(test, message, stmt.line)
    return None


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
