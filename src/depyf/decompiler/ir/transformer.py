"""Rebuilding statements: one traversal, which the rewrites of nested statements share.

A rewrite is a subclass of ``Transformer`` that overrides the visits it needs::

    class _WithoutPass(Transformer):
        def leave(self, stmt, done):
            if not isinstance(stmt, PassStmt):
                done.append(stmt)

    _WithoutPass().run(body)

The stack is a list of generators: how deep statements nest takes no stack of the interpreter.
"""

from __future__ import annotations

from collections.abc import Callable, Generator

from depyf.decompiler.ir.stmt import Body, PassStmt, Stmt
from depyf.decompiler.ir.walk_stmt import COMPOUND, bodies, with_new_bodies
from depyf.safety.depth import spend
from depyf.safety.rewrites import is_heard, step


class Transformer:
    """Visits the statements of a body, in order, and rebuilds what changes; what does not change is shared."""

    title = ""
    """What the rewrite does, for a list of rewrites (``rewrites.step``)."""
    fills = False
    """Whether an inner list that loses all of its statements gets a ``pass``."""

    def begin(self, body: Body, around: Stmt | None, at: int) -> None:
        """A list before its first statement: ``bodies(around)[at]``; ``around`` is None for the outermost."""

    def enter(self, stmt: Stmt) -> Stmt | None:
        """A compound statement before what is inside it; None leaves all of that as it is."""
        return stmt

    def leave(self, stmt: Stmt, done: list[Stmt]) -> None:
        """A statement after what is inside it.  ``done`` is what its list has become so far, and is added to."""
        done.append(stmt)

    def finish(self, done: list[Stmt]) -> Body:
        """A list after its last statement."""
        return tuple(done)

    def run(self, body: Body) -> Body:
        """``body`` rewritten."""
        heard = bool(self.title) and is_heard()
        self.begin(body, None, 0)
        open_lists = [self._list(body, heard)]
        made: Body | None = None
        lists = 1
        while True:
            try:
                inner = open_lists[-1].send(made)  # type: ignore[arg-type]
            except StopIteration as end:
                made = end.value
                open_lists.pop()
                if not open_lists:
                    spend(lists)
                    return end.value  # type: ignore[no-any-return]
            else:
                open_lists.append(self._list(inner, heard))
                made = None
                lists += 1

    def _list(self, body: Body, heard: bool) -> Generator[Body, Body, Body]:
        """Yields the lists inside ``body``, is sent what becomes of each, and returns what becomes of ``body``."""
        done: list[Stmt] = []
        for stmt in body:
            if type(stmt) in COMPOUND and (entered := self.enter(stmt)) is not None:
                stmt = entered
                made: list[Body] = []
                changed = False
                for at, part in enumerate(bodies(stmt)):
                    if part:
                        self.begin(part, stmt, at)
                    new = (yield part) if part else part
                    changed = changed or new is not part
                    made.append((PassStmt(),) if self.fills and part and not new else new)
                stmt = with_new_bodies(stmt, made) if changed else stmt
            if heard:
                self._leave_heard(stmt, done)
            else:
                self.leave(stmt, done)
        new = self.finish(done)
        return body if new == body else new  # statements are equal only to themselves

    def _leave_heard(self, stmt: Stmt, done: list[Stmt]) -> None:
        before = list(done)
        self.leave(stmt, done)
        if done != [*before, stmt]:
            step(self.title, done[-1] if done else None)


class _EachStatement(Transformer):
    def __init__(self, change: Callable[[Stmt], Stmt], title: str = "") -> None:
        self.change = change
        self.title = title

    def leave(self, stmt: Stmt, done: list[Stmt]) -> None:
        done.append(self.change(stmt))


def map_statements(body: Body, change: Callable[[Stmt], Stmt], title: str = "") -> Body:
    """``body`` with every statement replaced, innermost first; ``title`` as in ``Transformer``."""
    return _EachStatement(change, title).run(body)


class _EachList(Transformer):
    def __init__(self, change: Callable[[list[Stmt]], Body]) -> None:
        self.change = change

    def finish(self, done: list[Stmt]) -> Body:
        return self.change(done)


def map_lists(body: Body, change: Callable[[list[Stmt]], Body]) -> Body:
    """``body`` with every list of statements replaced, innermost first."""
    return _EachList(change).run(body)
