"""How often the variables of one body are written, read and deleted."""

from __future__ import annotations

from collections import Counter

from depyf.decompiler.generated.effects import Variable, variable
from depyf.decompiler.ir.expr import Display, Expr, Star, Walrus
from depyf.decompiler.ir.stmt import (
    Assign,
    Body,
    Delete,
    ExprStmt,
    For,
    If,
    PassStmt,
    Raise,
    Return,
    Stmt,
    Try,
    While,
    With,
)
from depyf.decompiler.ir.walk_expr import children, walk_all
from depyf.decompiler.ir.walk_stmt import walk

_KNOWN = (Assign, Delete, ExprStmt, For, If, PassStmt, Raise, Return, While, With)


class Usage:
    """Counts; a variable that is bound in another way than by ``variable = value`` counts as written twice."""

    def __init__(self, body: Body) -> None:
        self.reads: Counter[Variable] = Counter()
        self.writes: Counter[Variable] = Counter()
        self.deletes: Counter[Variable] = Counter()
        self.values: dict[Variable, Expr] = {}
        self.opaque = False
        """Some statement binds names that are not expressions (an import, an except clause)."""
        for stmt in walk(body):
            self._statement(stmt)

    def _statement(self, stmt: Stmt) -> None:
        if isinstance(stmt, Delete):
            for target in stmt.targets:
                if (name := variable(target)) is not None:
                    self.deletes[name] += 1
                else:
                    self._reads(target)
        elif isinstance(stmt, Assign):
            self._reads(stmt.value)
            name = variable(stmt.targets[0]) if len(stmt.targets) == 1 else None
            if name is not None:
                self.writes[name] += 1
                self.values[name] = stmt.value
            else:
                self._binds(*stmt.targets)
        else:
            for child in children(stmt):
                if isinstance(child, Expr):
                    self._reads(child)
            if isinstance(stmt, For):
                self._binds(stmt.target)
            elif isinstance(stmt, With):
                self._binds(*[target for _, target in stmt.items if target is not None])
            elif isinstance(stmt, Try) and all(clause.name is None for clause in stmt.handlers):
                for clause in stmt.handlers:
                    if clause.type is not None:
                        self._reads(clause.type)
            elif not isinstance(stmt, _KNOWN):
                self.opaque = True
                self._binds(*[child for child in children(stmt) if isinstance(child, Expr)])

    def _reads(self, node: Expr) -> None:
        for part in walk_all((node,), _operands):
            name = variable(part)
            if name is not None:
                self.reads[name] += 1
            elif isinstance(part, Walrus):
                self._binds(part.target)

    def _binds(self, *targets: Expr) -> None:
        for part in walk_all(targets, lambda node: _operands(node) if isinstance(node, (Display, Star)) else []):
            name = variable(part)
            if name is not None:
                self.writes[name] += 2
            elif not isinstance(part, (Display, Star)):  # ``x.y = value`` and ``x[i] = value`` read x
                self._reads(part)


def _operands(node: Expr) -> list[Expr]:
    return [child for child in children(node) if isinstance(child, Expr)]
