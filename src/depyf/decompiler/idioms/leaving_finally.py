"""Restores a ``finally`` whose body always returns or raises: nothing in the bytecode re-raises at its end.

    try: A                                 try: A
    except: F                   is         finally: F
    F

Where a ``return`` in A tells, ``structure/regions/finally_copies.py`` has found the ``finally``, and copies remain.
The handler and the copy after the ``try`` came from the same source lines; an ``except`` would have separate lines.
Input and output: the Python dialect.
"""

from __future__ import annotations

from dataclasses import replace

from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.ir.expr import Const, Name
from depyf.decompiler.ir.stmt import Body, ExceptClause, For, If, PassStmt, Return, Try, While, With
from depyf.decompiler.ir.walk_stmt import walk, with_bodies
from depyf.decompiler.structure.exits import ends
from depyf.safety.depth import any_depth

_Shape = list[tuple[type, int, bool]]
_LONGEST = 40


def leaving_finally(unit: CodeUnit, stmt: Try, body: Body, after: int) -> tuple[Try, int]:
    """``stmt`` without copies of its ``finally``; ``body[after:]`` follows it, up to the index in the result it is
    kept."""
    end = len(body)
    if stmt.final:
        if not ends(stmt.final):
            return stmt, end
        wanted = _shape(stmt.final)
        return (replace(stmt, body=_without(unit, stmt.body, stmt.final, wanted)) if wanted else stmt), after
    if len(stmt.handlers) != 1 or stmt.final or stmt.star or stmt.handlers[0].type is not None:
        return stmt, end
    handler = stmt.handlers[0].body
    wanted = _shape(handler)
    if not wanted:
        return stmt, end
    if stmt.orelse:
        if _shape(stmt.orelse) == wanted:
            return replace(stmt, handlers=(), orelse=(), final=handler), end
    elif after < end:
        if end - after <= _LONGEST and _shape(body[after:]) == wanted:
            return replace(stmt, handlers=(), final=handler), after
    elif len(stmt.body) > len(handler) and _shape(stmt.body[-len(handler) :]) == wanted:
        return replace(stmt, body=stmt.body[: -len(handler)], handlers=(), final=handler), end
    return stmt, end


@any_depth
def _without(unit: CodeUnit, body: Body, final: Body, wanted: _Shape) -> Body:
    """``body`` without copies of ``final`` at its ends."""
    if len(body) >= len(final) and _shape(body[-len(final) :]) == wanted:
        return body[: -len(final)] or (PassStmt(),)
    last = body[-1]
    if isinstance(last, Try) and any(unbinds(unit, clause) for clause in last.handlers):
        last = replace(last, body=_without(unit, last.body, final, wanted))
    elif isinstance(last, (If, Try, With)):
        last = with_bodies(last, lambda inner: _without(unit, inner, final, wanted) if inner else inner)
    elif isinstance(last, (For, While)) and last.orelse:
        last = replace(last, orelse=_without(unit, last.orelse, final, wanted))
    return (*body[:-1], last)


def unbinds(unit: CodeUnit, clause: ExceptClause) -> bool:
    """Whether others see if the clause is left before its name is unbound: by its end it is not (3.8)."""
    return unit.unbinds_handled and isinstance(clause.name, Name) and clause.name.scope != "fast"


def returns_none(stmt: Return) -> bool:
    """``return`` or ``return None``."""
    return stmt.value is None or isinstance(stmt.value, Const) and stmt.value.value is None


def _shape(body: Body) -> _Shape:
    """Kinds and lines of all statements, and which return nothing; empty if one has no line, or if the body does not
    leave."""
    if not ends(body):
        return []
    found: _Shape = []
    for stmt in walk(body):
        if stmt.line is None or len(found) > _LONGEST or isinstance(stmt, Return) and stmt.implicit:
            return []  # before 3.10 the end of a function that is implicit has the line of its last statement
        found.append((type(stmt), stmt.line, isinstance(stmt, Return) and returns_none(stmt)))
    return found
