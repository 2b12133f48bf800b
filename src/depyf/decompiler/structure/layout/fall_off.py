"""Replaces ``return`` in module and class bodies, which cannot have one, by an exit to a label at their end.

Input and output: the labelled dialect.

    Block(L) { if a: exit L;  X;  return }  raise b    ->    Block(E) { Block(L) { if a: exit L;  X;  exit E }  raise b
    } Block(L) { if a: exit L;  X }  return              ->    Block(L) { if a: exit L;  X }
"""

from __future__ import annotations

from depyf.decompiler.ir.stmt import Block, Exit, Return, Stmt
from depyf.decompiler.ir.transformer import map_statements
from depyf.decompiler.ir.walk_stmt import walk
from depyf.decompiler.structure.label_kinds import LabelKind, make_label

END = make_label(LabelKind.BODY_END, 0)
"""The label of the end."""


def fall_off(body: list[Stmt]) -> list[Stmt]:
    """``body`` without ``return``; the compiler adds what is returned."""
    returns = sum(isinstance(stmt, Return) for stmt in walk(tuple(body)))
    if not returns:
        return body
    last = body[-1]
    if returns == 1 and isinstance(last, Return):
        return body[:-1] if last.implicit else body

    def replaced(stmt: Stmt) -> Stmt:
        return Exit(END) if isinstance(stmt, Return) else stmt

    return [Block(END, map_statements(tuple(body), replaced))]
