"""Removes statements without effect that only generated code has.

    a  (a statement, ``a`` a parameter)   ->   (nothing)      the value that ended a statement which was run elsewhere
    with a: return b                      ->   with a: return b
    raise None                                 nothing comes there, as promised (``bytecode.unreached``)
    if a: pass  else: b   ->   if not a: b      where ``a`` left a loop, one turn of which has been copied

Input and output: the Python dialect.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace

from depyf.decompiler.ir.expr import Const, Name
from depyf.decompiler.ir.stmt import Body, Delete, ExprStmt, If, PassStmt, Raise, Stmt, With
from depyf.decompiler.ir.transformer import Transformer, map_statements
from depyf.decompiler.ir.walk_stmt import walk
from depyf.decompiler.lift.negation import negate
from depyf.decompiler.structure.exits import ends


def drop_idle_parameters(body: Body, parameters: Set[str]) -> Body:
    """``body`` without statements that are a parameter alone, one that nothing deletes."""
    deleted = {t.id for s in walk(body) if isinstance(s, Delete) for t in s.targets if isinstance(t, Name)}
    return _IdleParameters(frozenset(parameters) - deleted).run(body)


class _IdleParameters(Transformer):
    title = "drop a statement that is only a parameter"
    fills = True

    def __init__(self, bound: Set[str]) -> None:
        self.bound = bound

    def leave(self, stmt: Stmt, done: list[Stmt]) -> None:
        named = stmt.value if isinstance(stmt, ExprStmt) else None
        if not (isinstance(named, Name) and named.scope == "fast" and named.id in self.bound):
            done.append(stmt)


def drop_unreached(body: Body) -> Body:
    """``body`` without each ``raise None`` after a ``with`` that is always left from inside."""
    return _Unreached().run(body)


class _Unreached(Transformer):
    title = "drop a raise that is never reached"

    def leave(self, stmt: Stmt, done: list[Stmt]) -> None:
        nothing = isinstance(stmt, Raise) and isinstance(stmt.exc, Const) and stmt.exc.value is None
        if not (nothing and done and isinstance(done[-1], With) and ends(done[-1].body)):
            done.append(stmt)


def drop_empty_arms(body: Body) -> Body:
    """``body`` with each ``if`` turned round that does something only in its ``else``."""
    return map_statements(body, _turned, "turn an if with an empty arm round")


def _turned(stmt: Stmt) -> Stmt:
    if isinstance(stmt, If) and stmt.orelse and all(isinstance(inner, PassStmt) for inner in stmt.body):
        return replace(stmt, test=negate(stmt.test), body=stmt.orelse, orelse=())
    return stmt
