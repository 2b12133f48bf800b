"""Marks for the stack slots of handlers: the exception, and the record of what was handled before it (plain lifting).

Such a mark needs no variable where every path brings the same one: nothing reads it but the end of its handler.  Where
a slot holds a mark on one path, and another mark or a value on the next, it has a temporary like any value.
"""

from __future__ import annotations

from collections.abc import Iterable

from depyf.decompiler.cfg.blocks import Node
from depyf.decompiler.cfg.containers import Containers
from depyf.decompiler.ir.expr import Const, Expr, Temp
from depyf.decompiler.ir.markers import Caught, HandledBefore, LastInstruction, Marker
from depyf.decompiler.ir.walk_expr import own_children, walk_all
from depyf.safety.depth import spend


class Marks:
    """The slots where marks meet other values: found while lifting, they count when everything is lifted again."""

    def __init__(self, containers: Containers) -> None:
        self.containers = containers
        self.bases: dict[int, list[Expr]] = {}
        """What the handler of a region finds on the stack: what was there when something might first raise."""
        self.mixed: set[tuple[int, int]] = set()
        """Blocks and slots of their entries that hold a mark on one path, and another one or a value on another."""
        self.mixed_bases: set[tuple[int, int]] = set()
        """The same for what the handler of a region finds, from one instruction that may raise to another."""

    def __len__(self) -> int:
        return len(self.mixed) + len(self.mixed_bases)

    def note_bases(self, container: int, stack: list[Expr]) -> None:
        """Something in ``container`` may raise, with this stack."""
        tree, table = self.containers.tree, self.containers.regions.table
        while container > 0:
            region = tree[container].region
            if tree[container].kind == "try":
                spend(table[region].depth >> 3)
                base = self.bases.setdefault(region, stack[: table[region].depth])
                for i, (value, known) in enumerate(zip(stack, base)):
                    if _differ(value, known) or _differ(known, value):
                        self.mixed_bases.add((region, i))
            container = tree[container].parent

    def note_entry(self, after: int, stack: list[Expr], entry: Iterable[Expr]) -> None:
        """One path brings ``stack`` to the block ``after``, which was lifted for ``entry``."""
        self.mixed.update((after, i) for i, (value, wanted) in enumerate(zip(stack, entry)) if _differ(wanted, value))

    def unmarked(self, container: int) -> set[int]:
        """The slots in which a mark has a temporary: the handler of a ``try`` around may find something else there."""
        tree, found = self.containers.tree, set[int]()
        while container > 0 and self.mixed_bases:
            if tree[container].kind == "try":
                region = tree[container].region
                found.update(i for inner, i in self.mixed_bases if inner == region)
            container = tree[container].parent
        return found

    def entered(self, node: Node, entry: list[Expr]) -> list[Expr]:
        """The stack that a block is lifted for."""
        if not len(self):
            return entry
        unmarked = self.unmarked(node.container)
        return [
            Temp(i) if (node.id, i) in self.mixed or i in unmarked and holds_mark(value) else value
            for i, value in enumerate(entry)
        ]

    def caught_base(self, region: int, base: list[Expr]) -> list[Expr]:
        """The slots below its exception that the handler of ``region`` is lifted for."""
        return [Temp(i) if (region, i) in self.mixed_bases else value for i, value in enumerate(base)]


def holds_mark(value: Expr) -> bool:
    """Whether a slot holds a handler's mark: the exception it caught, or what only unwinding needs."""
    return isinstance(value, (Caught, HandledBefore, LastInstruction))


def of_mark(value: Expr) -> Expr:
    """What a temporary gets in the place of a mark: the exception itself, or None where nothing reads it."""
    if not holds_mark(value) or isinstance(value, Caught) and value.region is not None:
        return value
    return Const(None)


def _differ(mark: Expr, other: Expr) -> bool:
    """Whether a slot holds a mark on one path, and another mark or a value on another.  A part of a statement is no
    value."""
    return holds_mark(mark) and mark != other and (not isinstance(other, Marker) or holds_mark(other))


def caught(value: Expr) -> list[Caught]:
    """The caught exceptions in a value."""
    nodes = walk_all((value,), lambda part: [] if isinstance(part, Marker) else own_children(part))
    return [part for part in nodes if isinstance(part, Caught) and part.region is not None]
