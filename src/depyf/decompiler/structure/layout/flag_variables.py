"""The last resort for an exit: a flag variable that skips everything up to the end of a block.

Input: the body of a block or loop, lowered but for exits to its own end.  Output: Python statements.

A flag set in a ``with`` is set before the manager is left.  Where leaving it raises, and a statement around it catches
that, the flag is wrong.  With ``careful`` the body of a statement that may catch has a separate flag, which is handed
on where the body ends:

    with A: { with B: { exit L } }      ->      with A: { g = False; with B: { g = True }  if g: f = True }
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from depyf.decompiler.ir.expr import Const, Temp, Un
from depyf.decompiler.ir.stmt import Assign, Body, Break, Delete, Exit, For, If, Stmt, Try, While, With
from depyf.decompiler.ir.walk_stmt import bodies, walk, with_bodies
from depyf.decompiler.structure.exits import exits_of, exits_to
from depyf.safety.depth import any_depth


def with_flag(body: Body, label: int, new_flag: Callable[[], Temp], *, careful: bool, releases: bool) -> Body:
    """``body`` with a flag in place of its exits to ``label``; ``releases`` deletes the flag at the end."""
    flag = new_flag()
    inner = _Guard(label, new_flag if careful else None).guard(body, flag, False)
    guarded = (Assign((flag,), Const(False)), *inner)
    return (*guarded, Delete((flag,))) if releases else guarded


class _Guard:
    def __init__(self, label: int, new_flag: Callable[[], Temp] | None) -> None:
        self.label = label
        self.new_flag = new_flag

    @any_depth
    def guard(self, body: Body, flag: Temp, in_loop: bool) -> Body:
        """Set ``flag`` instead of exiting, and skip everything up to the end of the block while it is set."""
        result: list[Stmt] = []
        for i, stmt in enumerate(body):
            if isinstance(stmt, Exit) and stmt.label == self.label:
                result.append(Assign((flag,), Const(True), stmt.line))
                if in_loop:
                    result.append(Break(stmt.line))
                return tuple(result)
            if self.label not in exits_of(stmt):
                result.append(stmt)
                continue
            rest = body[i + 1 :]
            if isinstance(stmt, (While, For)):
                changed = replace(
                    stmt,
                    body=self.guard(stmt.body, flag, True),
                    orelse=self.guard(stmt.orelse, flag, in_loop) if stmt.orelse else (),
                )
                result.append(changed)
                if in_loop:
                    result.append(If(flag, (Break(),)))
                    continue
            else:
                guarded = self._inside(stmt, flag, in_loop)
                if (
                    isinstance(guarded, Try)
                    and guarded.orelse
                    and not in_loop
                    and exits_to(bodies(stmt)[0], self.label)
                ):
                    guarded = replace(guarded, orelse=(If(Un("not", flag), guarded.orelse),))
                result.append(guarded)
                if in_loop:
                    continue
            if rest:
                result.append(If(Un("not", flag), self.guard(rest, flag, in_loop)))
            return tuple(result)
        return tuple(result)

    def _inside(self, stmt: Stmt, flag: Temp, in_loop: bool) -> Stmt:
        if self.new_flag is None or not self._may_catch(stmt):
            return with_bodies(stmt, lambda inner: self.guard(inner, flag, in_loop))
        own = self.new_flag()
        leave: Body = (Assign((flag,), Const(True)), *((Break(),) if in_loop else ()))

        def apart(inner: Body) -> Body:
            return (Assign((own,), Const(False)), *self.guard(inner, own, False), If(own, leave))

        if isinstance(stmt, With):
            return with_bodies(stmt, apart)
        assert isinstance(stmt, Try)
        rest = replace(stmt, body=())
        others = with_bodies(rest, lambda inner: self.guard(inner, flag, in_loop) if inner else inner)
        assert isinstance(others, Try)
        return replace(others, body=apart(stmt.body))

    def _may_catch(self, stmt: Stmt) -> bool:
        """Whether what an inner manager raises when it is left for the label may come to an end in ``stmt``."""
        if not isinstance(stmt, With) and not (isinstance(stmt, Try) and stmt.handlers):
            return False
        return any(isinstance(inner, With) and self.label in exits_of(inner) for inner in walk(bodies(stmt)[0]))
