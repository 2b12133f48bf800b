"""Dead temporaries: keep the evaluation, drop the store.

    tmp = None; del tmp       ->   (nothing)
    tmp = f(x)                ->   f(x)

    try: A; tmp = x           ->   try: A; return x
    finally: raise y               finally: raise y

A ``finally`` that always leaves drops the value that was to be returned.  Input and output: the Python dialect, before
temporaries are released.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from depyf.decompiler.ir.expr import Const, Temp, TempKey
from depyf.decompiler.ir.stmt import Assign, Body, Delete, ExprStmt, If, Return, Stmt, Try
from depyf.decompiler.ir.transformer import Transformer
from depyf.decompiler.ir.walk_expr import walk_own
from depyf.decompiler.ir.walk_stmt import walk
from depyf.decompiler.structure.exits import ends


def drop_dead_temporaries(body: Body, *, held: bool = False) -> Body:
    """``body`` without such temporaries; but for those that are deleted, and with ``held`` those that a branch of the
    same block comes after."""
    unread = unread_temporaries(body)
    return _Dropped(unread, held).run(body) if unread else body


def unread_temporaries(body: Body) -> frozenset[TempKey]:
    """The temporaries of ``body`` that are only bound."""
    bound = Counter(
        target.key
        for stmt in walk(body)
        if isinstance(stmt, Assign)
        for target in stmt.targets
        if isinstance(target, Temp)
    )
    if not bound:
        return frozenset()
    found = mentions(body) - deletions(body)
    return frozenset(key for key, count in bound.items() if found[key] == count)


def deletions(body: Body) -> Counter[TempKey]:
    """How often each temporary is deleted."""
    return Counter(
        target.key
        for stmt in walk(body)
        if isinstance(stmt, Delete)
        for target in stmt.targets
        if isinstance(target, Temp)
    )


def held_until(body: Body, unread: frozenset[TempKey]) -> dict[int, list[Temp]]:
    """Position of a branch in ``body`` -> the ``unread`` temporaries with a value that are bound before it, and after
    the branch before."""
    found: dict[int, list[Temp]] = {}
    waiting: list[Temp] = []
    for position, stmt in enumerate(body):
        if isinstance(stmt, If):
            found[position], waiting = waiting, []
        elif isinstance(stmt, Assign) and _is_unread(stmt, unread) and not isinstance(stmt.value, Const):
            waiting += [target for target in stmt.targets if isinstance(target, Temp)]
    return found


def mentions(body: Body) -> Counter[TempKey]:
    """How often each temporary of the function stands in ``body``; nested functions have their own."""
    return Counter(node.key for node in walk_own(body) if isinstance(node, Temp))


class _Dropped(Transformer):
    title = "drop a dead temporary"
    fills = True

    def __init__(self, unread: frozenset[TempKey], held: bool) -> None:
        self.unread = unread
        self.held = held
        self.kept: list[set[TempKey]] = []
        """The temporaries that stay, for each of the lists around."""

    def begin(self, body: Body, around: Stmt | None, at: int) -> None:
        waiting = held_until(body, self.unread).values() if self.held else ()
        self.kept.append({temp.key for temps in waiting for temp in temps} | deletions(body).keys())

    def enter(self, stmt: Stmt) -> Stmt:
        if isinstance(stmt, Try):
            return _returning(stmt, self.unread)
        if isinstance(stmt, If) and all(_says_nothing(inner, self.unread) for inner in stmt.orelse):
            return replace(stmt, orelse=())
        return stmt

    def leave(self, stmt: Stmt, done: list[Stmt]) -> None:
        if not _is_unread(stmt, self.unread - self.kept[-1]):
            done.append(stmt)
        elif isinstance(stmt, Assign) and not isinstance(stmt.value, Const):
            done.append(ExprStmt(stmt.value, stmt.line))

    def finish(self, done: list[Stmt]) -> Body:
        self.kept.pop()
        return tuple(done)


def _says_nothing(stmt: Stmt, unread: frozenset[TempKey]) -> bool:
    """Whether a statement only pushes a constant that is never popped."""
    return isinstance(stmt, Assign) and isinstance(stmt.value, Const) and _is_unread(stmt, unread)


def _returning(stmt: Try, unread: frozenset[TempKey]) -> Try:
    """``stmt`` with a ``return`` of the value on the stack at the end of its body, if its ``finally`` always leaves."""
    last = stmt.body[-1] if stmt.body else None
    if last is None or stmt.handlers or not ends(stmt.final) or not _is_unread(last, unread):
        return stmt
    assert isinstance(last, Assign)
    return replace(stmt, body=(*stmt.body[:-1], Return(last.value, last.line)))


def _is_unread(stmt: Stmt, unread: frozenset[TempKey]) -> bool:
    if not isinstance(stmt, Assign) or len(stmt.targets) != 1:
        return False
    target = stmt.targets[0]
    return isinstance(target, Temp) and target.key in unread
