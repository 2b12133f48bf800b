"""If all exits of a loop inside a handler share one target, leave the loop first and jump once after it.

Input and output: the labelled dialect, as the control-flow graph has it, where the end of a loop and the end of the
handler around it are one edge:

    handler: loop A: { if a: X; exit A  else: exit L }   ->   handler: block B: loop A: { if a: X; exit A  else: exit B }
                                                                       exit L

so that the way out of the loop falls through, and the way out of the handler is its end.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import count

from depyf.ir.stmt import Block, Body, Exit, Loop, Stmt, Try
from depyf.ir.transformer import Transformer, map_statements
from depyf.ir.walk_stmt import bodies, with_bodies
from depyf.safety.depth import any_depth
from depyf.structure.exits import leaving
from depyf.structure.label_kinds import LabelKind, make_label

Labels = frozenset[int]


def leave_loops_first(body: Body) -> Body:
    """``body`` with one exit after each such loop."""
    fresh = map(partial(make_label, LabelKind.LOOP_END), count())
    return _leave(body, frozenset(), frozenset(), fresh)


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


@any_depth
def _leave(body: Body, around: Labels, outside: Labels, fresh: Iterator[int]) -> Body:
    """``around`` are the labels of the statements around ``body``, ``outside`` those around its handler, if it is in one."""
    result: list[Stmt] = []
    for stmt in body:
        if isinstance(stmt, Try):
            handlers = {id(clause.body) for clause in stmt.handlers}
            stmt = with_bodies(
                stmt,
                lambda inner, handlers=handlers: _leave(  # type: ignore[misc]
                    inner, around, around if id(inner) in handlers else frozenset(), fresh
                ),
            )
        elif bodies(stmt):
            within = around | {stmt.label} if isinstance(stmt, (Block, Loop)) else around
            stmt = with_bodies(stmt, lambda inner, within=within: _leave(inner, within, outside, fresh))  # type: ignore[misc]
        places = leaving((stmt,)) if isinstance(stmt, Loop) and outside else set[int]()
        if len(places) == 1 and places <= outside:
            result.extend(_left_first(stmt, min(places), next(fresh)))
        else:
            result.append(stmt)
    return tuple(result)


def _left_first(loop: Stmt, place: int, label: int) -> tuple[Stmt, Stmt]:
    def redirected(stmt: Stmt) -> Stmt:
        return replace(stmt, label=label) if isinstance(stmt, Exit) and stmt.label == place else stmt

    return Block(label, map_statements((loop,), redirected)), Exit(place)
