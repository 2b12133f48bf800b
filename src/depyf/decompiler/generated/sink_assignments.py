"""Moves the last assignment of both branches of an ``if`` to after the ``if``, where they are equal.

    if enabled: tmp = enter(); value = f          if enabled: tmp = enter()
    else:       value = f                   ->    value = f
    ...value(x)                                   ...value(x)

    tmp = None; ...; tmp = x                  ->    ...; tmp = x

A value that lies on the stack while the code branches is assigned in each branch; torch 2.15 asks whether it is
profiled between loading a graph and calling it.  The same statements run in the same order as before.  Input and
output: the Python dialect, before temporaries are released.
"""

from __future__ import annotations

from dataclasses import replace

from depyf.decompiler.idioms.dead_temporaries import mentions
from depyf.decompiler.ir.expr import Const, Expr, Name, Temp, TempKey
from depyf.decompiler.ir.stmt import Assign, Body, If, PassStmt, Stmt
from depyf.decompiler.ir.transformer import Transformer
from depyf.decompiler.structure.exits import ends


def sink_assignments(body: Body) -> Body:
    """``body`` with such assignments made once."""
    return _Sunk().run(body)


class _Sunk(Transformer):
    title = "move what both arms assign to after the if"

    def leave(self, stmt: Stmt, done: list[Stmt]) -> None:
        if isinstance(stmt, If) and not ends(stmt.body) and not ends(stmt.orelse):
            stmt, shared = _parted(stmt)
            done += [stmt, *shared]
        else:
            done.append(stmt)

    def finish(self, done: list[Stmt]) -> Body:
        return tuple(stmt for position, stmt in enumerate(done) if not _overwritten(stmt, done[position + 1 :]))


def _overwritten(stmt: Stmt, rest: list[Stmt]) -> bool:
    """Whether ``stmt`` gives a temporary a constant that nothing reads before the next assignment (the empty slot of a
    call, where an argument lies later)."""
    if not isinstance(stmt, Assign) or len(stmt.targets) != 1 or not isinstance(stmt.value, Const):
        return False
    target = stmt.targets[0]
    if not isinstance(target, Temp):
        return False
    following = next((later for later in rest if mentions((later,))[target.key]), None)
    return isinstance(following, Assign) and _assigns_once(following, target.key)


def _assigns_once(stmt: Assign, key: TempKey) -> bool:
    """Whether ``stmt`` is ``temporary = ...`` with no other mention of the temporary."""
    target = stmt.targets[0]
    return len(stmt.targets) == 1 and isinstance(target, Temp) and target.key == key and mentions((stmt,))[key] == 1


def _parted(stmt: If) -> tuple[If, list[Stmt]]:
    first, second, shared = list(stmt.body), list(stmt.orelse), []
    while first and second and _same(first[-1], second[-1]):
        shared.append(first.pop())
        second.pop()
    if not shared:
        return stmt, []
    return replace(stmt, body=tuple(first) or (PassStmt(),), orelse=tuple(second)), shared[::-1]


def _same(one: Stmt, two: Stmt) -> bool:
    """Whether both statements assign the same plain value to the same temporary."""
    if not isinstance(one, Assign) or not isinstance(two, Assign) or len(one.targets) != 1 or len(two.targets) != 1:
        return False
    left: Expr = one.targets[0]
    right: Expr = two.targets[0]
    if not isinstance(left, Temp) or not isinstance(right, Temp) or left.key != right.key:
        return False
    left, right = one.value, two.value
    if isinstance(left, Const) and isinstance(right, Const):
        return left.value is right.value
    if isinstance(left, Name) and isinstance(right, Name):
        return (left.id, left.scope) == (right.id, right.scope)
    return isinstance(left, Temp) and isinstance(right, Temp) and left.key == right.key
