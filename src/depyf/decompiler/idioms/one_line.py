"""Joins statements on one line of source that compile to the same code: ``del a, b`` and ``import a, b``.

Input and output: the Python dialect.
"""

from __future__ import annotations

from dataclasses import replace

from depyf.decompiler.ir.grown import grown
from depyf.decompiler.ir.stmt import Body, Delete, Import, Stmt
from depyf.decompiler.ir.transformer import Transformer


def join_lines(body: Body) -> Body:
    """``body`` with such statements made one again, where their lines are known."""
    return _Lines().run(body)


class _Lines(Transformer):
    title = "join two statements of one line"

    def leave(self, stmt: Stmt, done: list[Stmt]) -> None:
        joined = _joined(done[-1], stmt) if done and stmt.line == done[-1].line else None
        if joined is None:
            done.append(stmt)
        else:
            done[-1] = joined


def _joined(before: Stmt, stmt: Stmt) -> Stmt | None:
    if stmt.line is None:
        return None
    if isinstance(before, Delete) and isinstance(stmt, Delete):
        return replace(before, targets=grown(before.targets, stmt.targets))
    if isinstance(before, Import) and isinstance(stmt, Import) and before.lazy == stmt.lazy:
        return replace(before, names=grown(before.names, stmt.names))
    return None
