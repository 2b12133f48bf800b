"""Stores a value directly in the variable that it later goes to, without a temporary (generated code only).

    value_0 = f(x); del tmp; out = value_0          ->   out = f(x); del tmp

    value_0 = a; a = f(x); b = value_0              ->   a, b = f(x), a

Dynamo deletes variables between the computation of a value and its use, and stores what is on its stack last to first.
Input and output: the Python dialect, before temporaries are released.  Only ``del`` of other variables may stand in
between, so no operation changes its place.  The proof has the last word.
"""

from __future__ import annotations

from collections import Counter
from typing import TypeGuard

from depyf.decompiler.ir.expr import Display, Expr, Name, Temp, TempKey, Walrus
from depyf.decompiler.ir.stmt import Assign, Body, Delete, ExprStmt, Stmt
from depyf.decompiler.ir.transformer import Transformer
from depyf.decompiler.ir.walk_expr import walk_all


def store_at_once(body: Body) -> Body:
    """``body`` with such temporaries gone."""
    mentions = Counter(node.key for node in walk_all(body) if isinstance(node, Temp))
    return _ImmediateStores(mentions).run(body)


class _ImmediateStores(Transformer):
    title = "store a value at once"

    def __init__(self, mentions: Counter[TempKey]) -> None:
        self.mentions = mentions

    def leave(self, stmt: Stmt, done: list[Stmt]) -> None:
        waiting = stmt.value if isinstance(stmt, Assign) else None
        if (
            isinstance(stmt, Assign) and isinstance(waiting, Temp) and self.mentions[waiting.key] == 2
        ):  # bound, and here
            at = len(done) - 1
            while at >= 0 and _deletes_variables(done[at]):
                at -= 1
            before = done[at] if at >= 0 else None
            if isinstance(before, Assign) and _is(before.targets, waiting) and _may_join(stmt, done[at + 1 :]):
                done[at] = Assign(stmt.targets, before.value, before.line)
                return
        done.append(stmt)


def exchange(body: Body) -> Body:
    """``body`` with the old value of a variable handed on without a temporary, as a person exchanges two of them."""
    mentions = Counter(node.key for node in walk_all(body) if isinstance(node, Temp))
    return _Exchanges(mentions).run(body)


class _Exchanges(Transformer):
    title = "join three stores in one exchange"

    def __init__(self, mentions: Counter[TempKey]) -> None:
        self.mentions = mentions

    def leave(self, stmt: Stmt, done: list[Stmt]) -> None:
        joined = _exchange(done[-2], done[-1], stmt, self.mentions) if len(done) > 1 else None
        if joined is not None:
            done[-2:] = [joined]
        else:
            done.append(stmt)


def _exchange(kept: Stmt, changed: Stmt, stored: Stmt, mentions: Counter[TempKey]) -> Assign | None:
    """``a, b = f(x), a`` for ``value_0 = a``, ``a = f(x)`` and ``b = value_0``."""
    if not (isinstance(kept, Assign) and isinstance(changed, Assign) and isinstance(stored, Assign)):
        return None
    waiting, old, into = stored.value, kept.value, _only(stored)
    if not isinstance(waiting, Temp) or mentions[waiting.key] != 2 or not _is(kept.targets, waiting):
        return None
    if not _is_variable(old) or _only(changed) != old.id or into is None or into == old.id:
        return None
    if any(isinstance(node, (Temp, Walrus)) for node in walk_all((ExprStmt(changed.value),))):
        return None
    targets = Display("tuple", (changed.targets[0], stored.targets[0]))
    return Assign((targets,), Display("tuple", (changed.value, old)), changed.line)


def _is_variable(value: Expr) -> TypeGuard[Name]:
    return isinstance(value, Name) and value.scope == "fast"


def _only(stmt: Assign) -> str | None:
    """The local variable that a statement assigns to, if it assigns to nothing else."""
    target = stmt.targets[0]
    return target.id if len(stmt.targets) == 1 and _is_variable(target) else None


def _deletes_variables(stmt: Stmt) -> bool:
    return isinstance(stmt, Delete) and all(isinstance(t, Name) and t.scope == "fast" for t in stmt.targets)


def _is(targets: tuple[object, ...], temp: Temp) -> bool:
    return len(targets) == 1 and isinstance(targets[0], Temp) and targets[0].key == temp.key


def _may_join(stmt: Assign, between: list[Stmt]) -> bool:
    """Whether the store can be made before the deletions ``between``."""
    target = stmt.targets[0]
    if len(stmt.targets) != 1 or not isinstance(target, Name) or target.scope != "fast":
        return False
    deleted = {t.id for d in between if isinstance(d, Delete) for t in d.targets if isinstance(t, Name)}
    return target.id not in deleted
