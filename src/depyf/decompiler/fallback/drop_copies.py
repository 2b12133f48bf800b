"""Removes temporaries that plain lifting only passes on.

Input and output: the Python dialect, deletions in place.

    t1 = E; x = t1; del t1     ->   x = E
    t1 = E; del t1             ->   E
    t1 = E; return t1          ->   return E
"""

from __future__ import annotations

from dataclasses import replace

from depyf.decompiler.ir.expr import Const, Expr, Name, Temp
from depyf.decompiler.ir.stmt import Assign, Body, Delete, ExprStmt, Return, Stmt
from depyf.decompiler.ir.transformer import Transformer


def drop_copies(body: Body) -> Body:
    """``body`` without temporaries that are bound, passed on once and deleted at once."""
    return _Copies().run(body)


class _Copies(Transformer):
    title = "drop a temporary that is only passed on"

    def leave(self, stmt: Stmt, done: list[Stmt]) -> None:
        done.append(stmt)
        _shorten(done)


def _shorten(done: list[Stmt]) -> None:
    """Rewrite the end of ``done`` once its last statement has completed a pattern."""
    last = done[-1]
    if isinstance(last, Return) and len(done) > 1:
        temp = _bound(done[-2])
        if temp is not None and isinstance(last.value, Temp) and last.value.key == temp.key:
            done[-2:] = [replace(last, value=_value(done[-2]))]
        return
    if not isinstance(last, Delete) or len(done) < 2:
        return
    before = done[-2]
    temp = _bound(before)
    if temp is not None and _deletes(last, temp):
        value = _value(before)
        del done[-2:]
        if not isinstance(value, (Const, Temp)):
            done.append(ExprStmt(value, before.line))
        _append_rest(done, last, temp)
        return
    if len(done) < 3 or not isinstance(before, Assign) or len(before.targets) != 1:
        return
    temp = _bound(done[-3])
    target = before.targets[0]
    passed = isinstance(before.value, Temp) and temp is not None and before.value.key == temp.key
    if temp is not None and passed and isinstance(target, (Name, Temp)) and _deletes(last, temp):
        first = done[-3]
        assert isinstance(first, Assign)
        done[-3:] = [replace(first, targets=(target,))]
        _append_rest(done, last, temp)


def _append_rest(done: list[Stmt], delete: Delete, temp: Temp) -> None:
    rest = tuple([t for t in delete.targets if not (isinstance(t, Temp) and t.key == temp.key)])
    if rest:
        done.append(replace(delete, targets=rest))


def _bound(stmt: Stmt) -> Temp | None:
    """The temporary that a statement binds, if it does nothing else."""
    if isinstance(stmt, Assign) and len(stmt.targets) == 1 and isinstance(stmt.targets[0], Temp):
        return stmt.targets[0]
    return None


def _value(stmt: Stmt) -> Expr:
    assert isinstance(stmt, Assign)
    return stmt.value


def _deletes(stmt: Delete, temp: Temp) -> bool:
    return any(isinstance(target, Temp) and target.key == temp.key for target in stmt.targets)
