"""If all exits of a loop inside a handler share one target, leave the loop first and jump once after it.

Input and output: the labelled dialect, as the control-flow graph has it, where the end of a loop and the end of the
handler around it are one edge:

    handler: loop A: { if a: X; exit A  else: exit L }   ->   handler: block B: loop A: { if a: X; exit A  else: exit B }
                                                                       exit L

so that the way out of the loop falls through, and the way out of the handler is its end.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import count

from depyf.decompiler.ir.stmt import Block, Body, Exit, Loop, Stmt, Try
from depyf.decompiler.ir.transformer import Transformer, map_statements
from depyf.decompiler.structure.exits import leaving
from depyf.decompiler.structure.label_kinds import LabelKind, make_label

Labels = frozenset[int]


def leave_loops_first(body: Body) -> Body:
    """``body`` with one exit after each such loop."""
    return _HandlerLoops().run(body)


def leave_inner_loops_first(body: Body) -> Body:
    """The same for nested loops: an inner loop whose only target is the end of the outer one is left first.

    Two ``break`` in a row are one jump in the code.
    """
    return _InnerLoops().run(body)


class _InnerLoops(Transformer):
    title = "leave an inner loop before the outer one"

    def __init__(self) -> None:
        self.fresh = map(partial(make_label, LabelKind.INNER_LOOP_END), count())
        self.depth = 0

    def enter(self, stmt: Stmt) -> Stmt:
        self.depth += isinstance(stmt, Loop)
        return stmt

    def leave(self, stmt: Stmt, done: list[Stmt]) -> None:
        self.depth -= isinstance(stmt, Loop)
        places = leaving((stmt,)) if isinstance(stmt, Loop) and self.depth else set[int]()
        done.extend(_left_first(stmt, min(places), next(self.fresh)) if len(places) == 1 else (stmt,))


class _HandlerLoops(Transformer):
    title = "leave a loop in a handler before the handler"

    def __init__(self) -> None:
        self.fresh = map(partial(make_label, LabelKind.LOOP_END), count())
        self.labels: list[tuple[Labels, Labels]] = []
        """For each of the lists around: the labels of all statements around it; those around its handler, if it is in one."""

    def begin(self, body: Body, around: Stmt | None, at: int) -> None:
        inside, outside = self.labels[-1] if self.labels else (frozenset(), frozenset())
        if isinstance(around, Try):
            outside = inside if 0 < at <= len(around.handlers) else frozenset()
        elif isinstance(around, (Block, Loop)):
            inside |= {around.label}
        self.labels.append((inside, outside))

    def leave(self, stmt: Stmt, done: list[Stmt]) -> None:
        outside = self.labels[-1][1]
        places = leaving((stmt,)) if isinstance(stmt, Loop) and outside else set[int]()
        if len(places) == 1 and places <= outside:
            done.extend(_left_first(stmt, min(places), next(self.fresh)))
        else:
            done.append(stmt)

    def finish(self, done: list[Stmt]) -> Body:
        self.labels.pop()
        return tuple(done)


def _left_first(loop: Stmt, place: int, label: int) -> tuple[Stmt, Stmt]:
    def redirected(stmt: Stmt) -> Stmt:
        return replace(stmt, label=label) if isinstance(stmt, Exit) and stmt.label == place else stmt

    return Block(label, map_statements((loop,), redirected)), Exit(place)
