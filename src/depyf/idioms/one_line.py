"""Joins statements on one line of source that compile to the same code: ``del a, b`` and ``import a, b``.

Input and output: the Python dialect.
"""

from __future__ import annotations

from dataclasses import replace

from depyf.ir.grown import grown
from depyf.ir.stmt import Body, Delete, Import, Stmt
from depyf.ir.walk_stmt import bodies, with_bodies
from depyf.safety.depth import any_depth


@any_depth
def join_lines(body: Body) -> Body:
    """``body`` with such statements made one again, where their lines are known."""
    out: list[Stmt] = []
    for stmt in body:
        if bodies(stmt):
            stmt = with_bodies(stmt, join_lines)
        joined = _joined(out[-1], stmt) if out else None
        if joined is None:
            out.append(stmt)
        else:
            out[-1] = joined
    return tuple(out)


def _joined(before: Stmt, stmt: Stmt) -> Stmt | None:
    if stmt.line is None or before.line != stmt.line:
        return None
    if isinstance(before, Delete) and isinstance(stmt, Delete):
        return replace(before, targets=grown(before.targets, stmt.targets))
    if isinstance(before, Import) and isinstance(stmt, Import) and before.lazy == stmt.lazy:
        return replace(before, names=grown(before.names, stmt.names))
    return None
