"""One rule per operation: what it does to the symbolic stack, and which statements it makes.

Rules of names, displays, calls and fresh containers are in modules of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from depyf.bytecode import ops
from depyf.errors import DecompilationError
from depyf.flow.program import ASYNC_FOR_ITER, END_FINALLY, MATCH_CASE, NONE, WITH_EXIT
from depyf.lift import calls, displays, names
from depyf.lift.values import (
    EXC_OLD,
    Chain,
    Item,
    IterOf,
    LinkedLeft,
    Shared,
    Unpack,
    flatten,
    is_slot,
)
from depyf.structure.except_star import STAR
from depyf.tree.expr import (
    Attr,
    AwaitOf,
    Bin,
    CellOf,
    Cmp,
    Comp,
    Const,
    DictOf,
    Expr,
    FStr,
    Marker,
    Name,
    Sub,
    Temp,
    Un,
    Walrus,
    YieldFrom,
    YieldOf,
)
from depyf.tree.nodes import (
    Assign,
    AugAssign,
    Delete,
    ExprStmt,
    Raise,
    Return,
)

if TYPE_CHECKING:
    from depyf.lift.symbolic import Symbolic

Rule = Callable[["Symbolic", Any], None]


def _copy(s: Symbolic, n: int) -> None:
    if n > len(s.stack):
        raise DecompilationError("stack underflow", s.program.unit.qualname, s.instr.offset)
    value = s.stack[-n]
    if s.atomic(value) or isinstance(value, Shared):
        if is_slot(value):
            s.block.used = True
        if isinstance(value, Item):
            s.flush_unpack()
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
    stack[-1], stack[-n] = stack[-n], stack[-1]


def _rot(s: Symbolic, n: int) -> None:
    _touch(s, n)
    if not s.spill_all and names.tuple_rotation(s, n):
        return
    stack = s.stack
    if s.spill_all:
        s.spill()
    stack.insert(len(stack) - n, stack.pop())


def _pop(s: Symbolic, _: Any) -> None:
    value = s.raw()
    at = len(s.stack)
    if at < s.block.depth and s.block.entry[at] is value and not isinstance(value, Marker):
        return
    if isinstance(value, Marker):
        if value.kind == "iter" and not s.stmts:
            s.block.drops_iterator = True
        if value.kind == "import":
            names.finish_import(s, value)
        elif value.kind == "entered":
            s.emit(ExprStmt(value, s.instr.line))
        elif value.kind == "item":
            s.emit(ExprStmt(value, s.instr.line))
        return
    if isinstance(value, (Const, Temp, CellOf)):
        return
    if isinstance(value, Shared):
        if s.stack and any(value is other for other in s.stack):
            return
        s.force(value.origin)
        return
    if isinstance(value, (Walrus, Chain)):
        targets, inner = flatten(value)
        s.emit(Assign(targets, inner, s.instr.line))
        return
    if isinstance(value, Item):
        s.stack.append(value)
        target = _overwritten(s, value)
        if target is not None:
            s.stack.pop()
            s.store(target, value)
            return
        s.flush_unpack()
        s.stack.pop()
        return
    if isinstance(value, Bin) and id(value) in s.origins:
        s.force(s.origins.pop(id(value)))
    s.emit(ExprStmt(value, s.instr.line))


def _overwritten(s: Symbolic, value: Item) -> Name | None:
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
    s.push(Attr(_aug_operand(s), name))


def _aug_operand(s: Symbolic) -> Expr:
    """The object of an attribute or item; a shared one may become the target of an augmented assignment."""
    value = s.stack[-1] if s.stack else None
    if isinstance(value, Shared) and len(s.stack) > 1 and any(value is other for other in s.stack[:-1]):
        s.raw()
        s.open[id(value)] = value
        return value.expr
    return s.pop()


def _aug_close(s: Symbolic) -> Expr:
    value = s.stack[-1] if s.stack else None
    if isinstance(value, Shared) and id(value) in s.open and not any(value is other for other in s.stack[:-1]):
        s.raw()
        del s.open[id(value)]
        return value.expr
    return s.pop()


def _load_method(s: Symbolic, name: str) -> None:
    s.push(Attr(s.pop(), name))
    s.push(Marker("null"))


def _store_attr(s: Symbolic, name: str) -> None:
    obj = _aug_close(s)
    s.store(Attr(obj, name), s.raw())


def _store_subscr(s: Symbolic, _: Any) -> None:
    if s.program.unit.name == "__annotate__" and len(s.stack) > 3:
        shared, value, obj, name = s.stack[-4:]
        if shared is obj and isinstance(shared, Shared) and isinstance(shared.expr, DictOf) and isinstance(name, Const):
            del s.stack[-4:]
            s.push(DictOf((*shared.expr.items, (name, value))))
            return
    key = _aug_close(s)
    obj = _aug_close(s)
    s.store(Sub(obj, key), s.raw())


def _subscr(s: Symbolic, _: Any) -> None:
    key = _aug_operand(s)
    obj = _aug_operand(s)
    s.push(Sub(obj, key))


def _delete_attr(s: Symbolic, name: str) -> None:
    s.emit(Delete((Attr(s.pop(), name),), s.instr.line))


def _delete_subscr(s: Symbolic, _: Any) -> None:
    obj, key = s.pops(2)
    s.emit(Delete((Sub(obj, key),), s.instr.line))


def _binary(s: Symbolic, op: str) -> None:
    right = s.pop()
    left = s.pop()
    if op == "%" and displays.folded_format(s, left, right):
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
    s.push(_link(s.pop(), op, value))


def _link(left: Expr, op: str, right: Expr) -> Cmp:
    """``left op right``, or the next link of the chained comparison that ``left`` stands for."""
    if isinstance(left, LinkedLeft):
        chain = left.comparison
        assert isinstance(chain, Cmp)
        return Cmp(chain.left, (*chain.ops, op), (*chain.rights, right))
    return Cmp(left, (op,), (right,))


def _unpack(s: Symbolic, shape: Any) -> None:
    count, star = (shape, -1) if isinstance(shape, int) else (shape[0] + 1 + shape[1], shape[0])
    value = s.raw()
    parent: Item | None = None
    if isinstance(value, Item):
        if s.unpack is value.unpack and len(value.unpack.targets) == value.index:
            parent = value
        else:
            s.stack.append(value)
            s.flush_unpack()
            value = s.stack.pop()
    elif isinstance(value, Shared) and s.stack and s.stack[-1] is value:
        pass
    elif isinstance(value, (Walrus, Chain)):
        pass
    else:
        s.stack.append(value)
        value = s.pop()
    if parent is None and s.unpack is not None:
        s.flush_unpack()
    if s.at in s.forced or (s.spill_all and parent is None and not isinstance(value, Shared)):
        temps = [s.new_temp() for _ in range(count)]
        unpack = Unpack(value, count, star, None, s.at, list(temps))
        s._emit_unpacked(unpack)
        s.stack.extend(reversed(temps))
        return
    s.begin_unpack(value, count, star, parent)


def _get_iter(s: Symbolic, slots: Any) -> None:
    s.push(IterOf(s.pop(), False))
    for _ in range((slots or 1) - 1):
        s.push(Marker("null"))


def _get_aiter(s: Symbolic, _: Any) -> None:
    s.push(IterOf(s.pop(), True))


def _for_iter(s: Symbolic, slots: Any) -> None:
    """The loop test; the item is pushed on the way into the body only (the caller drops the iterator on the other)."""
    s.block.cond = Marker("for", s.stack[-(slots or 1)])


def _get_awaitable(s: Symbolic, _: Any) -> None:
    value = s.pop()
    if isinstance(value, Comp) and value.kind != "generator":
        s.push(Marker("awaited", value))
    else:
        s.push(Marker("awaitable", value))


def _delegate(s: Symbolic, _: Any) -> None:
    value = s.pop()
    if isinstance(value, Marker) and value.kind == "awaited":
        s.push(value.detail)
    elif isinstance(value, Marker) and value.kind == "awaitable":
        inner = value.detail
        s.push(inner if isinstance(inner, Marker) and inner.kind == "entered" else AwaitOf(inner))
    elif isinstance(value, Marker) and value.kind == "yield_from":
        s.push(YieldFrom(value.detail))
    else:
        s.push(YieldFrom(value))


def _yield_from_iter(s: Symbolic, _: Any) -> None:
    s.push(Marker("yield_from", s.pop()))


def _yield(s: Symbolic, _: Any) -> None:
    s.push(YieldOf(s.pop()))


def _return(s: Symbolic, _: Any) -> None:
    value = s.raw()
    if isinstance(value, Shared):
        s.force(value.origin)
    s.stack.append(value)
    value = s.pop()
    targets, inner = flatten(value)
    if targets:
        value = value if isinstance(value, Walrus) else inner
    s.emit(Return(value, s.instr.line))


def _raise(s: Symbolic, count: int) -> None:
    values = s.pops(count)
    exc = values[0] if values else None
    cause = values[1] if count > 1 else None
    s.emit(Raise(exc, cause, s.instr.line))


def _reraise(s: Symbolic, _: Any) -> None:
    s.stmts.append(ExprStmt(Marker("reraise"), s.instr.line))


def _end_finally(s: Symbolic, _: Any) -> None:
    s.stmts.append(ExprStmt(Marker("end_finally"), s.instr.line))


def _with_exit(s: Symbolic, slots: int) -> None:
    for _ in range(slots):
        s.raw()


def _push_exc_info(s: Symbolic, _: Any) -> None:
    exc = s.raw()
    s.push(EXC_OLD)
    s.push(exc)


def _pop_except(s: Symbolic, count: int) -> None:
    for _ in range(count):
        s.raw()


def _exc_match(s: Symbolic, kind: Any) -> None:
    s.push(Marker("exc_match" if kind != STAR else "eg_match", s.pop()))


def _before_with(s: Symbolic, slots: Any, is_async: bool = False) -> None:
    manager = s.pop()
    marker = Marker("exit", (manager, is_async))
    s.emit(ExprStmt(Marker("with_start", marker), s.instr.line))
    s.push(marker)
    for _ in range((slots or 1) - 1):
        s.push(Marker("null"))
    s.push(Marker("entered", marker))


def _before_async_with(s: Symbolic, slots: Any) -> None:
    _before_with(s, slots, True)


def _branch(s: Symbolic, test: str) -> None:
    """Leaves ``succs`` as [fall-through, target]; the driver orders them by truth afterwards."""
    value = s.raw()
    block = s.block
    block.keep = None
    kept = bool(s.stack) and s.stack[-1] is value and test in ("true", "false")
    cond: Expr
    if kept and isinstance(value, Shared):
        block.keep = value
        cond = value.expr
    elif kept and isinstance(value, (Name, Const, Temp)):
        block.keep = Shared(value, s.at)
        cond = value
    else:
        s.stack.append(value)
        cond = s.pop()
    if test in ("none", "not none"):
        cond = _link(cond, "is", Const(None))
        test = "true" if test == "none" else "false"
    block.cond = cond
    if test == "true":
        block.succs.reverse()
        block.falls = 1
    else:
        block.falls = 0


def _match_case(s: Symbolic, case: Any) -> None:
    """The subject is a marker on the stack from the first case of a ``match`` to the body that is taken."""
    if case.first:
        marker = Marker("subject", s.pop())
        s.emit(ExprStmt(Marker("match_start", marker), s.instr.line))
        s.push(marker)
    subject = s.raw()
    if not isinstance(subject, Marker) or subject.kind != "subject":
        raise DecompilationError("case without its subject", s.program.unit.qualname, s.instr.offset)
    if not case.last:
        s.push(subject)
    test = Marker("case", (subject, case))
    if s.program.jump[s.at] == NONE:
        s.emit(ExprStmt(test, s.instr.line))
        return
    s.block.cond = test
    s.block.falls = 0


def _special(kind: str) -> Rule:
    def rule(s: Symbolic, arg: Any) -> None:
        s.push(Marker(kind, arg))

    return rule


RULES: dict[str, Rule] = {
    ops.NULL: _special("null"),
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
    ops.GET_ITER: _get_iter,
    ops.GET_AITER: _get_aiter,
    ops.FOR_ITER: _for_iter,
    ASYNC_FOR_ITER: _for_iter,
    ops.GET_AWAITABLE: _get_awaitable,
    ops.DELEGATE: _delegate,
    ops.GET_YIELD_FROM_ITER: _yield_from_iter,
    ops.YIELD: _yield,
    ops.RETURN: _return,
    ops.RAISE: _raise,
    ops.RERAISE: _reraise,
    END_FINALLY: _end_finally,
    MATCH_CASE: _match_case,
    WITH_EXIT: _with_exit,
    ops.PUSH_EXC_INFO: _push_exc_info,
    ops.POP_EXCEPT: _pop_except,
    ops.EXC_MATCH: _exc_match,
    ops.BEFORE_WITH: _before_with,
    ops.BEFORE_ASYNC_WITH: _before_async_with,
    ops.BRANCH: _branch,
    ops.LOAD_BUILD_CLASS: _special("build_class"),
    ops.LOAD_COMMON: _special("common"),
    ops.LOAD_LOCALS: _special("locals"),
    **names.RULES,
    **displays.RULES,
    **calls.RULES,
}
