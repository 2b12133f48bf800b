"""Deletes temporaries where the original released their value.

Input and output: the Python dialect.  A temporary represents a stack slot.  A slot is gone when its last reader has
popped it, a variable lives on until the function returns: without ``del`` it would keep its object (on a GPU: memory)
alive for longer.  After the pass no temporary is bound once nothing reads it any more, on every path that goes on;
where the function leaves, the frame releases everything anyway.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import Any

from depyf.decompiler.idioms.dead_temporaries import held_until
from depyf.decompiler.idioms.hoist import Hoister
from depyf.decompiler.ir.expr import BoolOf, Const, Display, Expr, Func, Name, Star, Temp, TempKey, Un
from depyf.decompiler.ir.stmt import (
    Assign,
    Body,
    Break,
    Continue,
    Delete,
    For,
    If,
    Match,
    PassStmt,
    Raise,
    Return,
    Stmt,
    Try,
    While,
    With,
)
from depyf.decompiler.ir.walk_expr import children, walk_all
from depyf.decompiler.ir.walk_stmt import bodies, with_bodies
from depyf.safety.depth import any_depth

Live = frozenset[TempKey]
_LEAVES = (Return, Raise, Break, Continue)


def release_temporaries(
    body: Body, stable: tuple[str, ...] = (), held: Live = frozenset(), *, in_try: bool = False
) -> Body:
    """``body`` with a ``del`` after the last use of every temporary; those ``held``, which nothing uses, are kept until
    the next branch of their block has been taken.  Globals whose names begin as in ``stable`` are never rebound.

    With ``in_try`` that may be inside a ``try`` that a temporary was bound before; where the ``try`` is left by an
    exception, it stays then until the function returns (the proof says so).
    """
    return _only_bound(_Releaser(stable, in_try, held).block(body, frozenset())[0], set(), in_try)[0]


def _only_finally(stmt: Try) -> bool:
    return bool(stmt.final) and not stmt.handlers and not stmt.orelse


@any_depth
def _only_bound(body: Body, bound: set[TempKey], in_try: bool) -> tuple[Body, set[TempKey] | None]:
    """``body`` without the ``del`` of a temporary that some path has not bound.

    ``bound`` are those bound on entry; the result says which are bound after the block, None if it always leaves.
    """
    out: list[Stmt] = []
    for stmt in body:
        if isinstance(stmt, Delete) and all(isinstance(target, Temp) for target in stmt.targets):
            kept = tuple(target for target in stmt.targets if isinstance(target, Temp) and target.key in bound)
            bound = bound - {target.key for target in kept}
            if kept:
                out.append(Delete(kept, stmt.line))
            continue
        after: set[TempKey] | None = bound
        if isinstance(stmt, If):
            yes, after_yes = _only_bound(stmt.body, set(bound), in_try)
            no, after_no = _only_bound(stmt.orelse, set(bound), in_try)
            stmt = If(stmt.test, yes or (PassStmt(stmt.line),), no, stmt.line)
            after = after_no if after_yes is None else after_yes if after_no is None else after_yes & after_no
        elif isinstance(stmt, Try) and in_try and _only_finally(stmt):
            inner, after = _only_bound(stmt.body, set(bound), in_try)
            final, _ = _only_bound(stmt.final, set(bound), in_try)
            stmt = replace(stmt, body=inner, final=final)
        elif isinstance(stmt, (For, With)):
            given = _given(stmt)
            inner = _inner_bound(frozenset(bound | given), in_try, stmt.body)
            if isinstance(stmt, For):
                stmt = replace(stmt, body=inner, orelse=_inner_bound(frozenset(bound), in_try, stmt.orelse))
            else:
                stmt = replace(stmt, body=inner)
        elif bodies(stmt):
            entry = frozenset(bound)
            stmt = with_bodies(stmt, partial(_inner_bound, entry, in_try))
        elif isinstance(stmt, _LEAVES):
            after = None
        elif isinstance(stmt, Assign):
            after = bound | _bound_by(stmt.targets)
        out.append(stmt)
        if after is None:
            return tuple(out), None
        bound = after
    return tuple(out), bound


@any_depth
def _inner_bound(bound: Live, in_try: bool, body: Body) -> Body:
    return _only_bound(body, set(bound), in_try)[0]


def _given(stmt: For | With) -> set[TempKey]:
    """The temporaries that a loop or a manager binds in front of the body."""
    targets = [stmt.target] if isinstance(stmt, For) else [target for _, target in stmt.items if target is not None]
    return _bound_by(tuple(targets))


def _bound_by(targets: tuple[Expr, ...]) -> set[TempKey]:
    """The temporaries among ``targets``, nested targets of an unpacking included."""
    parts = walk_all(targets, lambda target: children(target) if isinstance(target, (Display, Star)) else [])
    return {part.key for part in parts if isinstance(part, Temp)}


def _leaves_at_once(stmt: Stmt) -> bool:
    """Whether a statement ends the function without running any other code."""
    if isinstance(stmt, Return):
        return stmt.value is None or isinstance(stmt.value, (Const, Name, Temp))
    return isinstance(stmt, Raise) and (stmt.exc is None or isinstance(stmt.exc, (Name, Temp)))


def _ways(stmt: Stmt) -> tuple[Stmt, ...]:
    """``return t or f()`` as two statements: the original has popped the value of ``t`` when it calls ``f``."""
    value = stmt.value if isinstance(stmt, Return) else None
    if not isinstance(value, BoolOf) or not isinstance(value.values[0], Temp):
        return (stmt,)
    first, *others = value.values
    rest = others[0] if len(others) == 1 else BoolOf(value.op, tuple(others))
    if isinstance(rest, (Const, Name, Temp)):
        return (stmt,)
    test = first if value.op == "or" else Un("not", first)
    line = getattr(stmt, "line", None)
    return If(test, (Return(first, line),), (), line), Return(rest, line)


class _Releaser:
    def __init__(self, stable: tuple[str, ...], in_try: bool, held: Live) -> None:
        self.temps: dict[TempKey, Temp] = {}
        self.seen: dict[int, tuple[Stmt, Live]] = {}
        self.hoister = Hoister(stable)
        self.in_try = in_try
        self.held = held
        self.floor: Live = frozenset()
        """What is read outside of the innermost statement that a jump or an exception may leave."""

    @any_depth
    def block(self, body: Body, after: Live) -> tuple[Body, Live]:
        """The new statements, and the temporaries live on entry; ``after`` are those read after the block."""
        out: list[Stmt] = []
        live = after
        parts = tuple(part for stmt in body for part in _ways(stmt))
        waiting = held_until(parts, self.held) if self.held else {}
        for position, whole in reversed(list(enumerate(parts))):
            tested = self._kept(waiting.get(position, ()))
            for stmt in reversed(self._split(whole, live)):
                new, before, dead = self.statement(stmt, live, tested)
                if dead:
                    out.append(Delete(tuple(self.temps[key] for key in sorted(dead)), getattr(stmt, "line", None)))
                out.append(new)
                live = before
        return tuple(reversed(out)), live

    def _split(self, stmt: Stmt, after: Live) -> list[Stmt]:
        used = self.temporaries(stmt.test if isinstance(stmt, If) else stmt)
        if not used or (bodies(stmt) and not isinstance(stmt, If)):
            return [stmt]
        if isinstance(stmt, If):
            after = after | self.temporaries(If(Const(None), stmt.body, stmt.orelse))
        elif isinstance(stmt, _LEAVES):
            after = self.floor
        return self.hoister.split(stmt, used - after)

    def _kept(self, temps: Iterable[Temp]) -> Live:
        self.temps.update((temp.key, temp) for temp in temps)
        return frozenset(temp.key for temp in temps)

    def statement(self, stmt: Stmt, after: Live, tested: Live = frozenset()) -> tuple[Stmt, Live, Live]:
        """The new statement, what is live before it, and what must be deleted after it; ``tested``: what a branch ends
        the life of, like what it tests."""
        if isinstance(stmt, If):
            return self._branches(stmt, after, tested)
        used = self.temporaries(stmt)
        if isinstance(stmt, (While, For, Try, With, Match)) and bodies(stmt):
            # A path may leave these from anywhere: what they read stays until they are done.
            outside = self.temporaries(replace(stmt, body=())) if isinstance(stmt, Try) and self.in_try else used
            kept = after | outside
            through = isinstance(stmt, Try) and self.in_try and _only_finally(stmt)
            floor, self.floor = self.floor, self.floor | (outside if through else kept)
            if isinstance(stmt, Try) and through:
                # an exception goes through the ``finally`` and on: what the body binds first is not read before,
                # and what is read after the statement only where the body gets to its end
                body, entry = self.block(stmt.body, kept)
                final = self.block(stmt.final, kept)[0]
                self.floor = floor
                return replace(stmt, body=body, final=final), entry | outside | floor, outside - after
            stmt = with_bodies(stmt, lambda inner: self.block(inner, kept)[0])
            self.floor = floor
            return stmt, after | used, outside - after
        if isinstance(stmt, _LEAVES):
            return stmt, used | self.floor, frozenset()
        bound = self._bound(stmt)
        reads = frozenset(used - bound) | frozenset(key for key in bound if self._reads_too(stmt, key))
        return stmt, (after - bound) | reads, used - after

    def _branches(self, stmt: If, after: Live, tested: Live) -> tuple[Stmt, Live, Live]:
        body, live_body = self.block(stmt.body, after)
        orelse, live_orelse = self.block(stmt.orelse, after)
        tested |= self.temporaries(stmt.test)
        live = tested | live_body | live_orelse
        body = self._start(body, live - live_body)
        orelse = self._start(orelse, live - live_orelse)
        return If(stmt.test, body, orelse, stmt.line), live, frozenset()

    def _start(self, body: Body, dead: Live) -> Body:
        if not dead or (body and _leaves_at_once(body[0])):
            return body
        return (Delete(tuple(self.temps[key] for key in sorted(dead))), *body)

    def _bound(self, stmt: Stmt) -> Live:
        """Temporaries that a simple statement binds."""
        if isinstance(stmt, Assign):
            return frozenset(_bound_by(stmt.targets))
        return frozenset()

    def _reads_too(self, stmt: Stmt, key: TempKey) -> bool:
        return isinstance(stmt, Assign) and key in self.temporaries(stmt.value)

    @any_depth
    def temporaries(self, node: Any) -> Live:
        """The temporaries in ``node``; a nested function has its own."""
        known = self.seen.get(id(node))
        if known is not None:
            return known[1]
        if isinstance(node, Temp):
            self.temps.setdefault(node.key, node)
            found = frozenset((node.key,))
        else:
            inside = children(node)
            if isinstance(node, Func):
                inside = [*node.defaults, *(v for _, v in node.kwdefaults), *(v for _, v in node.annotations)]
            found = frozenset[TempKey]().union(*[self.temporaries(child) for child in inside])
        if isinstance(node, Stmt):
            self.seen[id(node)] = node, found  # some are made for the question: another must not get their id
        return found
