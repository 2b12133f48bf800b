"""Unpackings whose targets are still being stored: ``a, (b, *c) = value`` is one statement once the last target is
known.

The items of an unpacking lie on the stack as ``UnpackedItem``; ``Symbolic.unpack`` is the one that is stored to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from depyf.decompiler.ir.expr import Const, Expr, Name, Temp
from depyf.decompiler.ir.stmt import Assign
from depyf.decompiler.lift.stack_values import Chain, Shared, Unpack, UnpackedItem, flatten

if TYPE_CHECKING:
    from depyf.decompiler.lift.symbolic import Symbolic


def begin_unpack(s: Symbolic, value: Expr, count: int, star: int, parent: UnpackedItem | None) -> None:
    """Replace ``value`` by its ``count`` items (``star`` is the index of the starred one, or -1)."""
    unpack = s.unpack = Unpack(value, count, star, parent, s.at)
    if count == 0:
        complete(s, unpack)
    for i in reversed(range(count)):
        s.stack.append(UnpackedItem(unpack, i))


def flush_unpack(s: Symbolic) -> None:
    """Store the values of a pending unpacking that have no target yet to temporaries."""
    unpack = s.unpack
    if unpack is None:
        return
    unpack = unpack.outermost()
    s.unpack = None
    temps: list[Expr] = []
    for i, value in enumerate(s.stack):
        if isinstance(value, UnpackedItem):
            s.stack[i] = s.new_temp()
            temps.append(s.stack[i])
    # the first item of an unpacking is on top of the stack, so the pending ones are met in reverse
    for _ in range(unpack.count - len(unpack.targets)):
        unpack.targets.append(temps.pop() if temps else s.new_temp())
    targets, value = flatten(unpack.value)
    s.spill()
    s.stmts.append(Assign((*targets, unpack.display()), value, s.instr.line))


def complete(s: Symbolic, unpack: Unpack) -> None:
    while len(unpack.targets) == unpack.count:
        parent = unpack.parent
        if parent is None:
            s.unpack = None
            assign_unpacked(s, unpack)
            return
        parent.unpack.targets.append(unpack.display())
        unpack = parent.unpack
        s.unpack = unpack


def assign_unpacked(s: Symbolic, unpack: Unpack) -> None:
    value = unpack.value
    if isinstance(value, Shared):
        if s.stack and s.stack[-1] is value:
            s.stack[-1] = Chain((unpack.display(),), value.expr, value.origin)
            return
        s.force(value.origin)
        value = value.expr
    elif not s.spill_all and s.stack and s.stack[-1] is value and isinstance(value, (Const, Name, Temp)):
        s.stack[-1] = Chain((unpack.display(),), value, unpack.origin)
        return
    targets, value = flatten(value)
    s.emit(Assign((*targets, unpack.display()), value, s.instr.line))
