"""Symbolic execution of a basic block: stack code in, expressions and statements out.

Input invariant: stack depth on entry is known.  Output invariant: statements are in evaluation order, and no value
that has an effect is left pending below a statement: it is spilled to a ``Temp`` first.

Some stack idioms share one value between two consumers.  They are lifted optimistically (``Shared``, ``Chain``,
``Unpack``); where the guess fails the instruction is added to ``forced`` and the block is lifted again with a
temporary at that place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from depyf.bytecode import ops
from depyf.bytecode.codeunit import CodeUnit
from depyf.bytecode.ops import Instr
from depyf.choices import Choices
from depyf.errors import DecompilationError
from depyf.flow.program import ASYNC_FOR_ITER, END_FINALLY, MATCH_CASE, NONE, WITH_EXIT, Program
from depyf.lift import calls, displays, fresh, names
from depyf.lift.block import Lifted
from depyf.lift.values import (
    EXC_OLD,
    SPILL_BASE,
    Chain,
    Item,
    IterOf,
    LinkedLeft,
    Shared,
    Unpack,
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
    Display,
    Expr,
    FStr,
    Func,
    Marker,
    Name,
    SliceOf,
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
    Stmt,
)

_ATOMIC = (Const, Marker, Temp, CellOf, Item, fresh.Fresh)
_NEGATED = {"<": ">=", "==": "!="}


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


class Symbolic:
    """Executes instructions of one program over a symbolic stack.

    ``nested`` decompiles a nested code object into the body of a ``Func``.
    """

    def __init__(self, program: Program, nested: Callable[[CodeUnit], tuple[Stmt, ...]], choices: Choices) -> None:
        self.program = program
        self.nested = nested
        self.spill_all = not choices.idioms
        self.generated = choices.generated
        self.stable = choices.stable_globals
        self.rules = fresh.rules(_HANDLERS) if choices.generated else _HANDLERS
        self.forced: set[int] = set()
        self.spills = SPILL_BASE
        self.at = 0
        self.instr: Instr
        self.block: Lifted
        self.stack: list[Expr] = []
        self.stmts: list[Stmt] = []
        self.open: dict[int, Shared] = {}
        self.origins: dict[int, int] = {}
        self.unpack: Unpack | None = None
        self.skip: set[int] = set()
        self.levels: dict[int, int] = {}
        self.lazy: set[int] = set()
        self.keep_alive: list[Marker] = []

    def run(self, block: Lifted, code: list[int]) -> None:
        """Execute ``code`` on top of the state of ``block``; where ``forced`` grows the result is void."""
        self.block, self.stack, self.stmts = block, block.stack, block.stmts
        self.open, self.unpack = block.open, None
        self.skip.clear()
        handlers = self.rules
        instrs = self.program.instrs
        for index in code:
            instr = instrs[index]
            self.at, self.instr = index, instr
            if index in self.skip:
                self.skip.discard(index)
                block.last = index
                continue
            if instr.line is not None:
                if block.line is None:
                    block.line = instr.line
                block.lines.append(instr.line)
            handler = handlers.get(instr.op)
            if handler is None:
                raise DecompilationError(f"no rule for {instr.op}", self.program.unit.qualname, instr.offset)
            handler(self, instr.arg)
            block.last = index
        self.flush_unpack()

    def push(self, value: Expr) -> None:
        self.stack.append(value)

    def force(self, origin: int) -> None:
        if origin in self.forced:
            raise DecompilationError(
                "a shared value could not be spilled", self.program.unit.qualname, self.instr.offset
            )
        self.forced.add(origin)

    def raw(self) -> Expr:
        """Pop whatever is on top, shared or not."""
        if not self.stack:
            raise DecompilationError("stack underflow", self.program.unit.qualname, self.instr.offset)
        value = self.stack.pop()
        if len(self.stack) < self.block.low:
            self.block.low = len(self.stack)
        return value

    def pop(self) -> Expr:
        """Pop a value for use in an expression."""
        value = self.raw()
        kind = type(value)
        if kind is Name or kind is Const:
            return value
        if kind is Temp:
            if is_slot(value):
                self.block.used = True
        elif kind is Shared:
            assert isinstance(value, Shared)
            self.force(value.origin)
            return value.expr
        elif kind is Chain:
            assert isinstance(value, Chain)
            self.force(value.origin)
            return value.value
        elif kind is Item:
            self.stack.append(value)
            self.flush_unpack()
            return self.stack.pop()
        elif kind is Bin and id(value) in self.origins:
            self.force(self.origins.pop(id(value)))
        elif kind is fresh.Fresh:
            assert isinstance(value, fresh.Fresh)
            return fresh.escape(self, value)
        return value

    def pops(self, count: int) -> list[Expr]:
        values = [self.pop() for _ in range(count)]
        values.reverse()
        return values

    def atomic(self, value: Expr) -> bool:
        """Whether a value may stay on the stack while statements run: evaluating it later makes no difference."""
        if isinstance(value, Name):
            return value.scope == "fast" or (value.scope == "global" and value.id.startswith(self.stable or "\0"))
        if isinstance(value, SliceOf):
            return all(part is None or isinstance(part, Const) for part in (value.lower, value.upper, value.step))
        return isinstance(value, _ATOMIC)

    def new_temp(self) -> Temp:
        self.spills += 1
        return Temp(self.spills)

    def spill(self, upto: int | None = None) -> None:
        """Give every pending value that has an effect a temporary, in evaluation order."""
        stack = self.stack
        for i in range(len(stack) if upto is None else upto):
            value = stack[i]
            if self.atomic(value):
                continue
            if isinstance(value, Shared) and self.atomic(value.expr):
                continue
            if self.generated and isinstance(value, Display) and fresh.settle(self, i) is not None:
                continue
            if isinstance(value, IterOf):
                marker = Marker("iter", value)
                self.stmts.append(ExprStmt(Marker("iter_start", marker), self.instr.line))
                stack[i] = marker
                continue
            if isinstance(value, (Shared, Chain)):
                self.force(value.origin)
            if isinstance(value, Func) and not value.unit.name.startswith("<"):
                temp: Expr = self.new_temp()
                self.stmts.append(Assign((temp,), value, self.instr.line))
            else:
                temp = self.new_temp()
                self.stmts.append(Assign((temp,), value, self.instr.line))
            for j in range(i, len(stack)):
                if stack[j] is value:
                    stack[j] = temp

    def emit(self, stmt: Stmt) -> None:
        if self.unpack is not None:
            self.flush_unpack()
        if self.stack:
            self.spill()
        self.stmts.append(stmt)

    def flush_unpack(self) -> None:
        """Store the values of a pending unpacking that have no target yet to temporaries."""
        unpack = self.unpack
        if unpack is None:
            return
        while unpack.parent is not None:
            unpack = unpack.parent.unpack
        self.unpack = None
        replaced: dict[int, Expr] = {}
        for i, value in enumerate(self.stack):
            if isinstance(value, Item):
                replaced[id(value)] = self.stack[i] = self.new_temp()
        self._fill(unpack, replaced)
        line = self.instr.line
        targets, value = flatten(unpack.value)
        pending = self.stack
        hidden = [i for i, item in enumerate(pending) if not self.atomic(item)]
        if hidden:
            self.spill()
        self.stmts.append(Assign((*targets, unpack.display()), value, line))

    def _fill(self, unpack: Unpack, replaced: dict[int, Expr]) -> None:
        order = [value for key, value in replaced.items()]
        missing = unpack.count - len(unpack.targets)
        # the first item of an unpacking is on top of the stack, so the pending ones are met in reverse
        for _ in range(missing):
            unpack.targets.append(order.pop() if order else self.new_temp())

    def store(self, target: Expr, value: Expr) -> None:
        """``target = value``, in whatever larger statement it is a part of."""
        stack = self.stack
        line = self.instr.line
        if isinstance(value, Item):
            if self.unpack is value.unpack and len(value.unpack.targets) == value.index:
                value.unpack.targets.append(target)
                self._complete(value.unpack)
                return
            stack.append(value)
            self.flush_unpack()
            value = stack.pop()
        if isinstance(value, fresh.Fresh):
            value = fresh.escape(self, value)
        if self.generated and isinstance(target, Name) and target.scope == "fast" and self._plain_store(target, value):
            return
        if isinstance(value, Shared):
            if stack and stack[-1] is value:
                if isinstance(target, Name) and not isinstance(value.expr, (Chain, Marker)):
                    stack[-1] = Walrus(target, value.expr)
                    self.protect_name(target)
                else:
                    stack[-1] = Chain((target,), value.expr, value.origin)
                return
            self.force(value.origin)
            value = value.expr
        if is_slot(value):
            self.block.used = True
        if stack and stack[-1] is value and isinstance(value, (Const, Name, Temp)):
            self.protect_name(target)
            stack[-1] = Walrus(target, value) if isinstance(target, Name) else Chain((target,), value, self.at)
            return
        if isinstance(value, Bin) and value.op[-1] == "=" and self._augmented(target, value):
            return
        self.origins.pop(id(value), None)
        self.protect_name(target)
        names.finish_store(self, target, value, line)

    def _plain_store(self, target: Name, value: Expr) -> bool:
        """Generated code keeps a value it stores: store it, and go on with the variable."""
        if not self.stack or self.stack[-1] is not value or not isinstance(value, (Shared, Const, Name, Temp)):
            return False
        inner = value.expr if isinstance(value, Shared) else value
        if isinstance(inner, (Chain, Marker)) or sum(other is value for other in self.stack) > 1:
            return False
        self.stack.pop()
        self.protect_name(target)
        self.emit(Assign((target,), inner, self.instr.line))
        self.stack.append(target)
        return True

    def protect_name(self, target: Expr) -> None:
        """Keep a pending read of a local ahead of the store to it."""
        if not isinstance(target, Name) or target.scope != "fast":
            return
        if self.generated:
            fresh.protect(self, target.id)
        for i, pending in enumerate(self.stack):
            if isinstance(pending, Name) and pending.id == target.id and pending.scope == "fast":
                temp = self.new_temp()
                self.spill(i)
                self.stmts.append(Assign((temp,), pending, self.instr.line))
                self.stack[i] = temp

    def _augmented(self, target: Expr, value: Bin) -> bool:
        left = value.left
        same = (
            (
                isinstance(target, Name)
                and isinstance(left, Name)
                and target.id == left.id
                and target.scope == left.scope
            )
            or (
                isinstance(target, Attr)
                and isinstance(left, Attr)
                and target.value is left.value
                and target.name == left.name
            )
            or (
                isinstance(target, Sub)
                and isinstance(left, Sub)
                and target.value is left.value
                and _same_key(target, left)
            )
        )
        if not same:
            if id(value) in self.origins:
                self.force(self.origins.pop(id(value)))
            return False
        self.origins.pop(id(value), None)
        self.protect_name(target)
        self.emit(AugAssign(left, value.op, value.right, self.instr.line))
        return True

    def begin_unpack(self, value: Expr, count: int, star: int, parent: Item | None) -> None:
        """Replace ``value`` by its ``count`` items (``star`` is the index of the starred one, or -1)."""
        unpack = self.unpack = Unpack(value, count, star, parent, self.at)
        if count == 0:
            self._complete(unpack)
        for i in reversed(range(count)):
            self.stack.append(Item(unpack, i))

    def static_run(self, target: Name, value: Expr) -> bool:
        """3.12+ stores ``a, b = x, y`` right to left without a swap: see the run of stores as one assignment."""
        stack = self.stack
        if not stack or isinstance(value, (Item, Marker, Shared, Chain, Walrus)) or is_slot(value):
            return False
        instrs, index, run = self.program.instrs, self.program.next[self.at], [target]
        while index >= 0 and instrs[index].op == ops.STORE_FAST and len(run) <= len(stack):
            pending = stack[-len(run)]
            if isinstance(pending, (Item, Marker, Shared, Chain, Walrus)) or is_slot(pending) or pending is value:
                break
            run.append(Name(instrs[index].arg, "fast"))
            index = self.program.next[index]
        if len(run) < 2 or len({name.id for name in run}) != len(run):
            return False
        after = self.at
        for _ in run[1:]:
            after = self.program.next[after]
            self.skip.add(after)
        values = [*self.pops(len(run) - 1), value]
        run.reverse()
        self.emit(Assign((Display("tuple", tuple(run)),), Display("tuple", tuple(values)), self.instr.line))
        return True

    def _complete(self, unpack: Unpack) -> None:
        while len(unpack.targets) == unpack.count:
            parent = unpack.parent
            if parent is None:
                self.unpack = None
                self._emit_unpacked(unpack)
                return
            parent.unpack.targets.append(unpack.display())
            unpack = parent.unpack
            self.unpack = unpack

    def _emit_unpacked(self, unpack: Unpack) -> None:
        value = unpack.value
        if isinstance(value, Shared):
            if self.stack and self.stack[-1] is value:
                self.stack[-1] = Chain((unpack.display(),), value.expr, value.origin)
                return
            self.force(value.origin)
            value = value.expr
        targets, value = flatten(value)
        self.emit(Assign((*targets, unpack.display()), value, self.instr.line))


def _same_key(target: Sub, left: Sub) -> bool:
    a, b = target.key, left.key
    return a is b or (
        isinstance(a, Name) and isinstance(b, Name) and a.id == b.id or isinstance(a, Const) and isinstance(b, Const)
    )


Rule = Callable[[Symbolic, Any], None]


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


_HANDLERS: dict[str, Rule] = {
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

__all__ = ["Symbolic", "flatten"]
