"""Stack entries that exist only while lifting; none of them gets into the finished tree."""

from __future__ import annotations

from dataclasses import dataclass, field

from depyf.decompiler.ir.expr import Const, Display, Expr, Purpose, Star, Temp, Walrus
from depyf.decompiler.ir.markers import Caught, CaughtTraceback, CaughtType, HandledBefore, LastInstruction
from depyf.decompiler.ir.node import node

TESTED_NONE = Const(None)
"""The None of a jump that tests for it: ``is`` and ``is not`` are the same instruction there."""


def is_slot(value: Expr) -> bool:
    """Whether ``value`` is the unknown value that a block found at a stack position on entry."""
    return type(value) is Temp and value.purpose is Purpose.SLOT


@node(frozen=True, slots=True, eq=False)
class Shared(Expr):
    """A value with several references on the stack, made by ``COPY`` at instruction ``origin``.

    Only a few consumers may print it once for both references (chained comparison, ``x.a += 1``, walrus, ``a = b =
    value``, ``a or b``); any other consumer has it spilled to a temporary.
    """

    expr: Expr
    origin: int


@node(frozen=True, slots=True, eq=False)
class Chain(Expr):
    """A value already stored to ``targets`` that is about to be stored again: ``a.x = b = value``."""

    targets: tuple[Expr, ...]
    value: Expr
    origin: int


@node(frozen=True, slots=True, eq=False)
class IterOf(Expr):
    """The iterator ``GET_ITER`` (or ``GET_AITER``) made of ``value``."""

    value: Expr
    is_async: bool


@node(frozen=True, slots=True, eq=False)
class LinkedLeft(Expr):
    """The left operand of the next link of a chained comparison, in the place of the comparison so far."""

    comparison: Expr


@dataclass(slots=True, eq=False)
class Unpack(Expr):
    """An unpacking whose targets are still being stored, first to last."""

    value: Expr
    count: int
    star: int
    parent: UnpackedItem | None
    origin: int
    targets: list[Expr] = field(default_factory=list)

    def outermost(self) -> Unpack:
        """The unpacking that this one is a part of, or itself."""
        unpack = self
        while unpack.parent is not None:
            unpack = unpack.parent.unpack
        return unpack

    def whole(self) -> Expr:
        """What the statement takes apart."""
        return self.outermost().value

    def display(self) -> Display:
        parts = [Star(target) if i == self.star else target for i, target in enumerate(self.targets)]
        return Display("tuple", tuple(parts))


@node(frozen=True, slots=True, eq=False)
class UnpackedItem(Expr):
    """The ``index``-th value of an unpacking."""

    unpack: Unpack
    index: int

    def waiting(self) -> int:
        """How many items of the same unpacking, and of those that it is a part of, are stored after this one."""
        item: UnpackedItem | None = self
        found = 0
        while item is not None:
            found += item.unpack.count - 1 - item.index
            item = item.unpack.parent
        return found


def flatten(value: Expr) -> tuple[tuple[Expr, ...], Expr]:
    """Targets already stored to, and the value proper, of a value that walruses and chains are wrapped around."""
    targets: tuple[Expr, ...] = ()
    while True:
        if isinstance(value, Walrus):
            targets, value = (value.target, *targets), value.value
        elif isinstance(value, Chain):
            targets, value = (*value.targets, *targets), value.value
        else:
            return targets, value


EXC = Caught()
EXC_TYPE = CaughtType()
EXC_TB = CaughtTraceback()
EXC_OLD = HandledBefore()
LASTI = LastInstruction()

HANDLER_SLOTS = {
    "exc": EXC, "value": EXC, "type": EXC_TYPE, "tb": EXC_TB, "lasti": LASTI,
    "old_tb": EXC_OLD, "old_value": EXC_OLD, "old_type": EXC_OLD,
}  # fmt: skip
