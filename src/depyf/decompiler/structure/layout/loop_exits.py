"""Two ``break`` in a row are one jump in the code: leave the inner loop first, then the outer one.

Input and output: the labelled dialect, as the control-flow graph has it, where the end of an inner loop and that of the
outer one are one edge:

    loop O: loop A: { if a: X; exit A  else: exit O }   ->   loop O: block B: loop A: { if a: X; exit A  else: exit B }
                                                                     exit O
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import count

from depyf.decompiler.ir.stmt import Block, Body, Exit, Loop, Stmt
from depyf.decompiler.ir.transformer import Transformer, map_statements
from depyf.decompiler.structure.exits import leaving
from depyf.decompiler.structure.label_kinds import LabelKind, make_label


def leave_inner_loops_first(body: Body) -> Body:
    """``body`` with one exit after each inner loop whose only target is the end of the outer one."""
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


def _left_first(loop: Stmt, place: int, label: int) -> tuple[Stmt, Stmt]:
    def redirected(stmt: Stmt) -> Stmt:
        return replace(stmt, label=label) if isinstance(stmt, Exit) and stmt.label == place else stmt

    return Block(label, map_statements((loop,), redirected)), Exit(place)
