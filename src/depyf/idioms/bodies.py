"""Whole-body idioms: what the compiler adds around every function, module and class body.

Input and output: the Python dialect.
"""

from __future__ import annotations

from dataclasses import replace

from depyf.bytecode.codeunit import CO_OPTIMIZED, CodeUnit
from depyf.idioms.annotations import place_annotations
from depyf.idioms.class_body import class_body
from depyf.idioms.eager_annotations import eager_annotations
from depyf.lift.conditions import negate
from depyf.tree.expr import BoolOf, Const, Expr, Invoke, Marker, Name, Un
from depyf.tree.nodes import (
    Assert,
    Body,
    If,
    Pass,
    Raise,
    Return,
    Stmt,
    Try,
    With,
)
from depyf.tree.rewrite import bodies, walk, with_bodies


def finish_body(unit: CodeUnit, body: Body) -> Body:
    """Implicit returns, asserts, annotations, class prologue and empty bodies."""
    is_class = not unit.flags & CO_OPTIMIZED and unit.name != "<module>"
    if not unit.flags & CO_OPTIMIZED:
        body = eager_annotations(unit, place_annotations(body))
    body = _statements(body, unit)
    if is_class:
        body = class_body(unit, body)
    body = _drop_final_return(body, unit)
    return body


def _is_none(value: Expr | None) -> bool:
    return value is None or (isinstance(value, Const) and value.value is None)


def _drop_final_return(body: Body, unit: CodeUnit, behind: int | None = None) -> Body:
    """A ``return None`` at the very end says nothing; ``behind`` is the first line of a ``finally`` body run before it."""
    if not body:
        return body
    last = body[-1]
    if isinstance(last, Return) and _is_none(last.value):
        rest = body[:-1]
        goes_on = not unit.flags & CO_OPTIMIZED or (rest and isinstance(rest[-1], (Try, With)))
        return _drop_final_return(rest, unit, behind) if goes_on else rest
    if isinstance(last, If):
        changed: Stmt = If(
            last.test,
            _drop_final_return(last.body, unit, behind) or (Pass(last.line),),
            _drop_final_return(last.orelse, unit, behind),
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
            return _drop_final_return(inner, unit, behind) or inner

        changed = with_bodies(last, drop)
        if isinstance(changed, Try) and isinstance(last, Try) and optimized:
            changed = replace(changed, final=last.final)  # there it would drop the exception
        return (*body[:-1], changed)
    return body


def _falls_off(body: Body, behind: int | None) -> bool:
    """Whether the ``return`` at the end of ``body`` has no line of its own: nobody wrote it.

    ``behind`` is the first line of the ``finally`` body that runs before it.
    """
    if len(body) < 2 or not isinstance(body[-1], Return) or not _is_none(body[-1].value):
        return False
    lines = [stmt.line for stmt in walk(body[-2:-1]) if stmt.line is not None]
    line = body[-1].line
    return line is None or (behind is not None and line >= behind) or bool(lines and line <= max(lines))


def _statements(body: Body, unit: CodeUnit) -> Body:
    result: list[Stmt] = []
    for stmt in body:
        if bodies(stmt):
            stmt = with_bodies(stmt, lambda inner: _statements(inner, unit))
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
                result.extend(stmt.orelse)
            else:
                result.extend(_flat_if(stmt))
            continue
        if isinstance(stmt, Raise):
            result.append(_assertion(If(Const(True), (stmt,), (), stmt.line)) or stmt)
            continue
        if isinstance(stmt, Return) and isinstance(stmt.value, Const) and stmt.value.value is None:
            stmt = Return(None, stmt.line)
        result.append(stmt)
    return tuple(result)


def _flat_if(stmt: If) -> Body:
    """``if a: ...return`` needs no ``else`` unless it is an ``elif`` chain."""
    from depyf.structure.labels import ends

    if stmt.orelse and ends(stmt.body):
        return (If(stmt.test, stmt.body, (), stmt.line), *stmt.orelse)
    return (stmt,)


def _assertion(stmt: If, unit: CodeUnit | None = None) -> Stmt | None:
    """``if not a: raise AssertionError``, where the error was loaded by the dedicated instruction.

    Without such an instruction (3.8) it was an ``assert`` if the name is looked up as nobody can write it, or if all of
    it starts on one line.
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
        return Assert(test, message, stmt.line) if not stmt.orelse else None
    if unit is not None and unit.asserts_by_name and isinstance(exc, Name):
        written = bool(unit.flags & CO_OPTIMIZED) and raised[0].line != stmt.line
        if exc.id == "AssertionError" and exc.scope == "global" and not written:
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
