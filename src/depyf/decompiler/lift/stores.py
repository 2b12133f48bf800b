"""Stores: which statement a store to a target belongs to, and what has to be read before it.

A store ends an unpacking or an augmented assignment, is a walrus or one of several targets where the value stays on the
stack, or is an assignment by itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from depyf.decompiler.bytecode import ops
from depyf.decompiler.ir.expr import Bin, Const, Display, Expr, Name, Temp, Walrus
from depyf.decompiler.ir.markers import Marker
from depyf.decompiler.ir.stmt import Assign, AugAssign
from depyf.decompiler.lift import fresh_containers, unpackings
from depyf.decompiler.lift.rules.augmented import same_target
from depyf.decompiler.lift.stack_values import Chain, Shared, UnpackedItem, is_slot
from depyf.decompiler.lift.stored_statements import finish_store
from depyf.safety.depth import spend

if TYPE_CHECKING:
    from depyf.decompiler.lift.symbolic import Symbolic

_RUN = frozenset({ops.STORE_FAST, ops.RESTORE_FAST, ops.POP})


def store(s: Symbolic, target: Expr, value: Expr) -> None:
    """``target = value``, or the larger statement that it is a part of."""
    stack = s.stack
    line = s.instr.line
    if isinstance(value, UnpackedItem):
        if s.unpack is value.unpack and len(value.unpack.targets) == value.index:
            # what lies on top are the items that are stored next, which read nothing
            protect_name(s, target, value.unpack.whole(), len(stack) - value.waiting())
            value.unpack.targets.append(target)
            unpackings.complete(s, value.unpack)
            return
        stack.append(value)
        unpackings.flush_unpack(s)
        value = stack.pop()
    if isinstance(value, fresh_containers.Fresh):
        value = fresh_containers.escape(s, value)
    if s.generated and isinstance(target, Name) and target.scope == "fast" and _plain_store(s, target, value):
        return
    if isinstance(value, Shared):
        if stack and stack[-1] is value:
            if isinstance(target, Name) and not isinstance(value.expr, (Chain, Marker)):
                stack[-1] = Walrus(target, value.expr)
                _read_before(s, target)
            else:
                stack[-1] = Chain((target,), value.expr, value.origin)
            return
        s.force(value.origin)
        value = value.expr
    if is_slot(value):
        s.block.used = True
    if stack and stack[-1] is value and isinstance(value, (Const, Name, Temp)):
        if isinstance(target, Name):
            _read_before(s, target)
            stack[-1] = Walrus(target, value)
        else:
            stack[-1] = Chain((target,), value, s.at)
        return
    if isinstance(value, Bin) and value.op[-1] == "=" and _augmented(s, target, value):
        return
    s.origins.pop(id(value), None)
    protect_name(s, target)
    finish_store(s, target, value, line)


def static_run(s: Symbolic, target: Name, value: Expr) -> bool:
    """3.12+ stores ``a, b = x, y`` right to left without a swap: see the run of stores as one assignment.

    Of ``_, _ = x, y`` the first store is only a ``POP`` after the second (3.13+).
    """
    stack = s.stack
    never = (UnpackedItem, Marker, Shared, Chain, Walrus) if s.generated else (UnpackedItem, Marker, Shared, Chain)
    if not stack or isinstance(value, never) or is_slot(value):
        return False
    instrs, index, run, depth = s.program.instrs, s.program.next[s.at], [target], 1
    skipped: list[int] = []
    twice = 0
    while index >= 0 and instrs[index].op in _RUN and depth <= len(stack):
        pending = stack[-depth]
        if instrs[index].op != ops.RESTORE_FAST:
            if isinstance(pending, never) or is_slot(pending) or pending is value:
                break
            again = instrs[index].op == ops.POP
            if again and isinstance(pending, fresh_containers.Fresh):
                break  # generated code releases its list, which was not evaluated for a target
            twice += again
            run.append(run[-1] if again else Name(instrs[index].arg, "fast"))
        elif not isinstance(pending, Marker):
            break  # an inlined comprehension puts back what it hid: that may come between the stores
        skipped.append(index)
        depth += 1
        index = s.program.next[index]
    while skipped and instrs[skipped[-1]].op == ops.RESTORE_FAST:
        skipped.pop()
    if len(run) < 2 or len({name.id for name in run}) != len(run) - twice:
        return False
    s.skip.update(skipped)
    values = [item for item in s.pops(len(skipped)) if not isinstance(item, Marker)]
    run.reverse()
    s.emit(Assign((Display("tuple", tuple(run)),), Display("tuple", (*values, value)), s.instr.line))
    return True


def protect_name(s: Symbolic, target: Expr, assigned: Expr | None = None, below: int | None = None) -> None:
    """Keep a pending read of a local ahead of the store to it; only in the slots under ``below``, where that is given.

    Not that of the value which this very statement assigns: another target follows (``a, b = c = a``).
    """
    if not isinstance(target, Name) or target.scope != "fast":
        return
    pendings = s.stack[:below]
    spend(len(pendings) >> 4)
    if s.generated:
        fresh_containers.protect(s, target.id)
    for i, pending in enumerate(pendings):
        if pending is assigned and all(above is not assigned for above in s.stack[i + 1 :]):
            continue
        if isinstance(pending, Name) and pending.id == target.id and pending.scope == "fast":
            temp = s.new_temp()
            s.spill(i)
            s.stmts.append(Assign((temp,), pending, s.instr.line))
            s.stack[i] = temp


def _plain_store(s: Symbolic, target: Name, value: Expr) -> bool:
    """Generated code keeps a value it stores: store it, and go on with the variable."""
    if not s.stack or s.stack[-1] is not value or not isinstance(value, (Shared, Const, Name, Temp)):
        return False
    inner = value.expr if isinstance(value, Shared) else value
    if isinstance(inner, (Chain, Marker)) or sum(other is value for other in s.stack) > 1:
        return False
    s.stack.pop()
    protect_name(s, target)
    s.emit(Assign((target,), inner, s.instr.line))
    s.stack.append(target)
    return True


def _read_before(s: Symbolic, target: Name) -> None:
    """A walrus binds ``target`` on top of the stack: what was read of it further down stays in front of it.

    Both may end up in one expression, ``f(a, (a := b))``; where a statement comes between, the read is no longer
    atomic.
    """
    if target.scope != "fast" or s.spill_all or s.generated:
        protect_name(s, target, s.stack[-1])
        return
    for pending in s.stack[:-1]:
        if isinstance(pending, Name) and pending.id == target.id and pending.scope == "fast":
            s.early[id(pending)] = pending


def _augmented(s: Symbolic, target: Expr, value: Bin) -> bool:
    if not same_target(target, value.left):
        if id(value) in s.origins:
            s.force(s.origins.pop(id(value)))
        return False
    s.origins.pop(id(value), None)
    protect_name(s, target)
    s.emit(AugAssign(value.left, value.op, value.right, s.instr.line))
    return True
