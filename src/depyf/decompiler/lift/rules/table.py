"""One rule per operation: what it does to the symbolic stack, and which statements it makes.

Rules of names, displays, calls and fresh containers are in other modules.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from depyf.decompiler.bytecode import ops
from depyf.decompiler.bytecode.variables.spelling import exact
from depyf.decompiler.ir.expr import (
    Attr,
    Bin,
    CellOf,
    Const,
    DictOf,
    FStr,
    Invoke,
    Name,
    Star,
    Sub,
    Temp,
    Un,
    Walrus,
)
from depyf.decompiler.ir.markers import (
    BuildClass,
    CommonConstant,
    Entered,
    ImportedModule,
    LocalsDict,
    LoopItem,
    LoopIterator,
    Marker,
    NullSlot,
)
from depyf.decompiler.ir.stmt import (
    Assign,
    AugAssign,
    Delete,
    ExprStmt,
)
from depyf.decompiler.lift import unpackings
from depyf.decompiler.lift.rules import calls, container_rules, control, names, unpacking
from depyf.decompiler.lift.rules.augmented import operand
from depyf.decompiler.lift.rules.control import link
from depyf.decompiler.lift.stack_values import (
    Chain,
    Shared,
    Unpack,
    UnpackedItem,
    flatten,
    is_slot,
)
from depyf.errors import DecompilationError

if TYPE_CHECKING:
    from depyf.decompiler.lift.symbolic import Symbolic

Rule = Callable[["Symbolic", Any], None]
_TARGETS = names.STORES | {ops.UNPACK_SEQUENCE, ops.UNPACK_EX, ops.POP}


def _copy(s: Symbolic, n: int) -> None:
    if n > len(s.stack):
        raise DecompilationError("stack underflow", s.program.unit.qualname, s.instr.offset)
    value = s.stack[-n]
    if s.atomic(value) or isinstance(value, Shared):
        if is_slot(value):
            s.block.used = True
        if isinstance(value, UnpackedItem):
            unpackings.flush_unpack(s)
            value = s.stack[-n]
        s.stack.append(value)
        return
    if s.spill_all or s.at in s.forced:
        s.spill(len(s.stack))
        s.stack.append(s.stack[-n])
        return
    shared = Shared(value, s.at)
    s.stack[-n] = shared
    s.stack.append(shared)


def _touch(s: Symbolic, n: int) -> None:
    if n > len(s.stack):
        raise DecompilationError("stack underflow", s.program.unit.qualname, s.instr.offset)
    low = len(s.stack) - n
    if low < s.block.low:
        s.block.low = low


def _swap(s: Symbolic, n: int) -> None:
    _touch(s, n)
    if not s.spill_all and names.tuple_swap(s, n):
        return
    stack = s.stack
    if s.spill_all:
        s.spill()
    if n == 2 and not s.atomic(stack[-2]) and not s.atomic(stack[-1]):
        s.swapped.append((stack[-2], stack[-1]))
    stack[-1], stack[-n] = stack[-n], stack[-1]


def _rot(s: Symbolic, n: int) -> None:
    _touch(s, n)
    if not s.spill_all and names.tuple_rotation(s, n):
        return
    stack = s.stack
    if s.spill_all:
        s.spill()
    stack.insert(len(stack) - n, stack.pop())


def _only_entry(s: Symbolic) -> bool:
    """Whether the block itself has left nothing on the stack, such as the value that it is about to return."""
    return all(value is before for value, before in zip(s.stack, s.block.entry)) and len(s.stack) < s.block.depth


def _pop(s: Symbolic, _: Any) -> None:
    value = s.raw()
    at = len(s.stack)
    if at < s.block.depth and s.block.entry[at] is value and not isinstance(value, Marker):
        return
    if isinstance(value, Marker):
        if isinstance(value, LoopIterator):
            if not s.stmts and _only_entry(s):
                s.block.iterators += (value,)
        elif isinstance(value, ImportedModule):
            names.finish_import(s, value)
        elif isinstance(value, (Entered, LoopItem)):
            s.emit(ExprStmt(value, s.instr.line))
        return
    if isinstance(value, (Const, Temp, CellOf)) or isinstance(value, Name) and value.id in s.idle:
        return
    if isinstance(value, Shared):
        if s.stack and any(value is other for other in s.stack):
            return
        s.force(value.origin)
        return
    if isinstance(value, (Walrus, Chain)):
        targets, inner = flatten(value)
        spelled = isinstance(value, Walrus) and len(targets) == 1 and not s.generated
        s.emit(ExprStmt(value, s.instr.line) if spelled else Assign(targets, inner, s.instr.line))
        return
    if isinstance(value, UnpackedItem):
        s.stack.append(value)
        target = _overwritten(s, value)
        if target is not None:
            s.stack.pop()
            s.store(target, value)
            return
        unpackings.flush_unpack(s)
        s.stack.pop()
        return
    if isinstance(value, Bin) and id(value) in s.origins:
        s.force(s.origins.pop(id(value)))
    s.emit(ExprStmt(value, s.instr.line))


def _overwritten(s: Symbolic, value: UnpackedItem) -> Name | None:
    """The variable whose first store 3.12+ turned into a drop: ``_, _ = pair`` stores to ``_`` once."""
    if s.unpack is not value.unpack or len(value.unpack.targets) != value.index:
        return None
    instrs, index = s.program.instrs, s.program.next[s.at]
    while index >= 0 and instrs[index].op == ops.POP:
        index = s.program.next[index]
    return Name(instrs[index].arg, "fast") if index >= 0 and instrs[index].op == ops.STORE_FAST else None


def _load_const(s: Symbolic, value: Any) -> None:
    s.push(Const(value))


def _load_attr(s: Symbolic, name: str) -> None:
    s.push(Attr(s.pop() if exact(name) is None else operand(s), name))


def _load_method(s: Symbolic, name: str) -> None:
    s.push(Attr(s.pop(), name))
    s.push(NullSlot())


def _store_attr(s: Symbolic, name: str) -> None:
    if exact(name) is None:
        _set_attribute(s, name)
        return
    obj = operand(s)
    s.store(Attr(obj, name), s.raw())


def _store_subscr(s: Symbolic, _: Any) -> None:
    if s.program.unit.name == "__annotate__" and len(s.stack) > 3:
        shared, value, obj, name = s.stack[-4:]
        if shared is obj and isinstance(shared, Shared) and isinstance(shared.expr, DictOf) and isinstance(name, Const):
            del s.stack[-4:]
            s.push(DictOf((*shared.expr.items, (name, value))))
            return
    key = operand(s)
    obj = operand(s)
    s.store(Sub(obj, key), s.raw())


def _subscr(s: Symbolic, _: Any) -> None:
    key = operand(s)
    obj = operand(s)
    s.push(Sub(obj, key))


def _set_attribute(s: Symbolic, name: str) -> None:
    """``setattr(x, "a b", value)``: no target of an assignment has such a name."""
    obj, value = s.pop(), s.raw()
    temp: Temp | None = None
    if isinstance(value, (Marker, UnpackedItem)):  # what a loop, a manager or an unpacking hands over is assigned first
        temp = s.new_temp()
        s.stack.append(obj)
        s.store(temp, value)
        obj = s.pop()
    else:
        s.stack.append(value)
        value = s.pop()
        if not s.atomic(value) and not s.atomic(obj):  # the value is evaluated before the object
            s.stack += [value, obj]
            s.spill(len(s.stack) - 1)
            obj, value = s.pop(), s.pop()
            temp = value if isinstance(value, Temp) else None
    s.emit(ExprStmt(Invoke(Const(setattr), (obj, Const(name), temp or value)), s.instr.line))
    if temp is not None and not s.spill_all:
        s.stmts.append(Delete((temp,), s.instr.line))


def _delete_attr(s: Symbolic, name: str) -> None:
    if exact(name) is None:
        s.emit(ExprStmt(Invoke(Const(delattr), (s.pop(), Const(name))), s.instr.line))
        return
    s.emit(Delete((Attr(s.pop(), name),), s.instr.line))


def _delete_subscr(s: Symbolic, _: Any) -> None:
    obj, key = s.pops(2)
    s.emit(Delete((Sub(obj, key),), s.instr.line))


def _binary(s: Symbolic, op: str) -> None:
    right = s.pop()
    left = s.pop()
    if op == "%" and container_rules.folded_format(s, left, right):
        left = FStr((left.value,))  # type: ignore[attr-defined]
    if op[-1] == "=":
        if s.at in s.forced:
            temp = s.new_temp()
            s.emit(Assign((temp,), left, s.instr.line))
            s.stmts.append(AugAssign(temp, op, right, s.instr.line))
            s.push(temp)
            return
        value = Bin(op, left, right)
        s.origins[id(value)] = s.at
        s.push(value)
        return
    s.push(Bin(op, left, right))


def _unary(s: Symbolic, op: str) -> None:
    s.push(Un(op, s.pop()))


def _compare(s: Symbolic, op: str) -> None:
    right = s.raw()
    if isinstance(right, Shared) and len(s.stack) > 1 and s.stack[-2] is right:
        value = right.expr
    else:
        s.stack.append(right)
        value = s.pop()
    s.push(link(s.pop(), op, value))


def _unpack(s: Symbolic, shape: Any) -> None:
    count, star = (shape, -1) if isinstance(shape, int) else (shape[0] + 1 + shape[1], shape[0])
    if shape == 1 and not s.spill_all and _is_starred(s):
        s.push(Star(s.pop()))
        return
    value = s.raw()
    parent: UnpackedItem | None = None
    if isinstance(value, UnpackedItem):
        if s.unpack is value.unpack and len(value.unpack.targets) == value.index:
            parent = value
        else:
            s.stack.append(value)
            unpackings.flush_unpack(s)
            value = s.stack.pop()
    elif isinstance(value, Shared) and s.stack and s.stack[-1] is value:
        pass
    elif isinstance(value, (Walrus, Chain)):
        pass
    else:
        s.stack.append(value)
        value = s.pop()
    if parent is None and s.unpack is not None:
        unpackings.flush_unpack(s)
    if s.at in s.forced or (s.spill_all and parent is None and not isinstance(value, Shared)):
        temps = [s.new_temp() for _ in range(count)]
        unpack = Unpack(value, count, star, None, s.at, list(temps))
        unpackings.assign_unpacked(s, unpack)
        s.stack.extend(reversed(temps))
        return
    unpackings.begin_unpack(s, value, count, star, parent)


def _is_starred(s: Symbolic) -> bool:
    """Whether the value on top is the ``*Ts`` of ``*args: *Ts`` (its name lies below it) or of ``[*T = *Ts]``.

    Both unpack a single item, and store it nowhere.
    """
    index = s.program.next[s.at]
    op = s.program.instrs[index].op if index >= 0 else ops.RETURN
    name = s.stack[-2] if len(s.stack) > 1 else None
    if op == ops.RETURN:
        return s.program.unit.may_be_default
    return isinstance(name, Const) and isinstance(name.value, str) and op not in _TARGETS


def _special(kind: type[NullSlot] | type[BuildClass] | type[LocalsDict]) -> Rule:
    def rule(s: Symbolic, _: Any) -> None:
        s.push(kind())

    return rule


def _load_common(s: Symbolic, arg: str) -> None:
    if arg == "AssertionError":
        s.asserted = s.instr.line
    s.push(CommonConstant(arg))


RULES: dict[str, Rule] = {
    ops.NULL: _special(NullSlot),
    ops.POP: _pop,
    ops.COPY: _copy,
    ops.SWAP: _swap,
    ops.ROT: _rot,
    ops.LOAD_CONST: _load_const,
    ops.LOAD_ATTR: _load_attr,
    ops.LOAD_METHOD: _load_method,
    ops.STORE_ATTR: _store_attr,
    ops.DELETE_ATTR: _delete_attr,
    ops.SUBSCR: _subscr,
    ops.STORE_SUBSCR: _store_subscr,
    ops.DELETE_SUBSCR: _delete_subscr,
    ops.BINARY: _binary,
    ops.UNARY: _unary,
    ops.COMPARE: _compare,
    ops.IS: _compare,
    ops.CONTAINS: _compare,
    ops.UNPACK_SEQUENCE: _unpack,
    ops.UNPACK_EX: _unpack,
    ops.LOAD_BUILD_CLASS: _special(BuildClass),
    ops.LOAD_COMMON: _load_common,
    ops.LOAD_LOCALS: _special(LocalsDict),
    **control.RULES,
    **names.RULES,
    **container_rules.RULES,
    **unpacking.RULES,
    **calls.RULES,
}
