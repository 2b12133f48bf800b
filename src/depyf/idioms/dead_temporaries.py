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

from depyf.ir.expr import Const, Temp, TempKey
from depyf.ir.stmt import Assign, Body, Delete, ExprStmt, If, PassStmt, Return, Stmt, Try
from depyf.ir.walk_expr import walk_own
from depyf.ir.walk_stmt import bodies, walk, with_bodies
from depyf.safety.depth import any_depth
from depyf.structure.exits import ends


def drop_dead_temporaries(body: Body, *, held: bool = False) -> Body:
    """``body`` without such temporaries; but for those that are deleted, and with ``held`` those that a branch of the same
    block comes after."""
    unread = unread_temporaries(body)
    return _block(body, unread, held) if unread else body


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
    """Position of a branch in ``body`` -> the ``unread`` temporaries with a value that are bound before it, and after the
    branch before."""
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


@any_depth
def _block(body: Body, unread: frozenset[TempKey], held: bool) -> Body:
    out: list[Stmt] = []
    waiting = held_until(body, unread).values() if held else ()
    kept = {temp.key for temps in waiting for temp in temps} | deletions(body).keys()
    for stmt in body:
        if isinstance(stmt, Try):
            stmt = _returning(stmt, unread)
        if bodies(stmt):
            if isinstance(stmt, If) and all(_says_nothing(inner, unread) for inner in stmt.orelse):
                stmt = replace(stmt, orelse=())
            stmt = with_bodies(stmt, lambda inner: _block(inner, unread, held) or ((PassStmt(),) if inner else ()))
        if _is_unread(stmt, unread - kept):
            assert isinstance(stmt, Assign)
            if not isinstance(stmt.value, Const):
                out.append(ExprStmt(stmt.value, stmt.line))
        else:
            out.append(stmt)
    return tuple(out)


def _says_nothing(stmt: Stmt, unread: frozenset[TempKey]) -> bool:
    """Whether it pushes a constant that is never popped."""
    return isinstance(stmt, Assign) and isinstance(stmt.value, Const) and _is_unread(stmt, unread)


def _returning(stmt: Try, unread: frozenset[TempKey]) -> Try:
    """The value on the stack at the end of the body was to be returned, where the ``finally`` always leaves."""
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
