"""The state at a point of a walk through a function, and the flow of an expression's value from there.

Input: what an expression holds, and where it goes.  Output: the uses that are taken down in ``Followed.uses``.
"""

from __future__ import annotations

import ast

from depyf.run.uses.held_values import Held, Names
from depyf.run.uses.use_kinds import PlacedUse, ValueUse


def path_of(node: ast.AST) -> str:
    """``self.scale`` for a name with attributes; "" for anything else."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""


def is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


class Followed:
    """The state of the walk over one function that follows a value."""

    def __init__(self) -> None:
        self.uses: set[PlacedUse] = set()
        self.names: Names | None = {}
        """None after a ``return``, ``raise``, ``break`` or ``continue``."""
        self.around: Names = {}
        """What is held by names that the function does not bind."""
        self.bound: set[str] = set()
        """Names that the function binds itself: no builtins."""
        self.outer: set[str] = set()
        """Names of ``global`` and ``nonlocal``."""
        self.nested = False

    def use(self, use: ValueUse, node: ast.AST) -> None:
        self.uses.add(PlacedUse(getattr(node, "lineno", 0), use))

    def result(self, held: Held, node: ast.AST) -> None:
        if held in (Held.VALUE, Held.INSIDE, Held.TEXT):
            self.use(ValueUse.UNKNOWN if self.nested else ValueUse.RETURNED, node)
        elif held is Held.MASK:
            self.use(ValueUse.ARITHMETIC, node)

    def kept(self, held: Held, node: ast.AST) -> None:
        if held in (Held.VALUE, Held.INSIDE, Held.TEXT):
            self.use(ValueUse.STORED, node)
        elif held is Held.MASK:
            self.use(ValueUse.ARITHMETIC, node)

    def collected(self, container: ast.expr, held: Held, node: ast.AST) -> None:
        """Note that ``held`` is put into ``container``."""
        if not held.followed:
            return
        path = path_of(container)
        elsewhere = path in self.around and path not in self.bound - self.outer
        if elsewhere or (self.names or {}).get(path, Held.OTHER) not in (Held.FRESH, Held.INSIDE):
            self.kept(held, node)
        if path and self.names is not None and held in (Held.VALUE, Held.INSIDE, Held.TEXT, Held.MIXED):
            self.names[path] = Held.INSIDE

    def passed(self, node: ast.AST, held: list[Held]) -> Held:
        """Note that ``held`` are passed to an unknown function; returns what its result is."""
        if any(one in (Held.VALUE, Held.INSIDE, Held.TEXT) for one in held):
            self.use(ValueUse.UNKNOWN, node)
        elif Held.MASK in held:
            self.use(ValueUse.ARITHMETIC, node)
        return Held.OTHER
