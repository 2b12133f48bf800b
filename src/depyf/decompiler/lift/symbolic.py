"""Symbolic execution of a basic block: stack code to expressions and statements.

Input invariant: stack depth on entry is known.  Output invariant: statements are in evaluation order, and no value
that has an effect is left pending below a statement: it is spilled to a ``Temp`` first.

Some stack idioms share one value between two consumers.  They are lifted optimistically (``Shared``, ``Chain``,
``Unpack``); where the guess fails the instruction is added to ``forced`` and the block is lifted again with a
temporary at that place.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable

from depyf.decompiler.bytecode import ops
from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.bytecode.ops import Instr
from depyf.decompiler.cfg.program import Program
from depyf.decompiler.ir.expr import (
    Bin,
    CellOf,
    Const,
    DictOf,
    Display,
    Expr,
    Func,
    Invoke,
    Name,
    Purpose,
    SliceOf,
    Temp,
    Walrus,
)
from depyf.decompiler.ir.markers import IteratorStart, LoopIterator, Marker
from depyf.decompiler.ir.stmt import (
    Assign,
    AugAssign,
    ExprStmt,
    Stmt,
)
from depyf.decompiler.lift import fresh_containers
from depyf.decompiler.lift.engine import Engine, Style
from depyf.decompiler.lift.lifted_block import Lifted
from depyf.decompiler.lift.rules import names
from depyf.decompiler.lift.rules.augmented import same_target
from depyf.decompiler.lift.rules.calls import COMPREHENSIONS
from depyf.decompiler.lift.rules.table import RULES
from depyf.decompiler.lift.stack_values import (
    Chain,
    IterOf,
    Shared,
    Unpack,
    UnpackedItem,
    flatten,
    is_slot,
)
from depyf.errors import DecompilationError
from depyf.safety.depth import spend
from depyf.safety.rewrites import step

_ATOMIC = (Const, Marker, Temp, CellOf, UnpackedItem, fresh_containers.Fresh)
_RUN = frozenset({ops.STORE_FAST, ops.RESTORE_FAST, ops.POP})


def _bound_parameters(program: Program) -> frozenset[str]:
    """The parameters that nothing unbinds."""
    unbound = {i.arg for i in program.instrs if i.op in (ops.DELETE_FAST, ops.LOAD_FAST_CLEAR)}
    return frozenset(program.unit.params) - unbound


class Symbolic(Engine):
    """Executes instructions of one program over a symbolic stack.

    ``nested`` decompiles a nested code object, and is told whether it must be an expression, into the body of a ``Func``.
    """

    def __init__(self, program: Program, nested: Callable[[CodeUnit, bool], tuple[Stmt, ...]], style: Style) -> None:
        self.program = program
        self.nested = nested
        self.style = style
        self.spill_all = not style.fold
        self.generated = style.generated
        self.written = style.written
        self.lets_go = style.held
        self.idle = _bound_parameters(program) if style.peeled else frozenset[str]()
        """Parameters that are dropped silently: what is left of a loop in which the function begins."""
        self.stable = style.stable
        self.plain_keys = style.plain_keys
        self.rules = fresh_containers.rules(RULES) if style.generated else RULES
        self.forced: set[int] = set()
        self.known_forced: frozenset[int] = frozenset()
        """What was forced when this round of lifting began: forcing it again would not help."""
        self.spills = 0
        self.implicit: set[int] = set()
        self.at = 0
        self.asserted: int | None = None
        """The line of the ``assert`` whose error was loaded last."""
        self.instr: Instr
        self.block: Lifted
        self.stack: list[Expr] = []
        self.stmts: list[Stmt] = []
        self.open: dict[int, Shared] = {}
        self.origins: dict[int, int] = {}
        self.early: dict[int, Name] = {}
        """Reads of locals that a walrus above them on the stack binds anew, by identity."""
        self.unpack: Unpack | None = None
        self.skip: set[int] = set()
        self.before_loop = True
        self.runs: dict[int, tuple[DictOf, int]] = {}
        """How many items at the end of a dict on the stack are written out, by its place."""
        self.swapped: list[tuple[Expr, Expr]] = []
        """Values that lie in another order than they were evaluated in: the earlier and the later one."""
        self.starred: dict[int, tuple[Expr, int]] = {}
        """The last starred element of a display on the stack, and how many elements there are up to it, by its place."""

    def run(self, block: Lifted, code: list[int], before_loop: bool = True) -> None:
        """Execute ``code`` on top of the state of ``block``; where ``forced`` grows the result is void.

        ``before_loop``: a loop test follows it.
        """
        self.before_loop = before_loop
        self.block, self.stack, self.stmts = block, block.stack, block.stmts
        self.open, self.unpack = block.open, block.unpack
        self.skip.clear()
        self.swapped.clear()
        handlers, written = self.rules, self.written
        instrs = self.program.instrs
        for index in code:
            instr = instrs[index]
            self.at, self.instr = index, instr
            if written is not None and self.generated is not (index in written):
                self._switch()
                handlers = self.rules
            if index in self.skip:
                self.skip.discard(index)
                block.last = index
                continue
            if instr.line is not None and not (instr.op == ops.POP and self._drops_marker()):
                if block.line is None:
                    block.line = instr.line
                block.lines.append(instr.line)
            handler = handlers.get(instr.op)
            if handler is None:
                raise DecompilationError(f"no rule for {instr.op}", self.program.unit.qualname, instr.offset)
            if self.lets_go and instr.op in fresh_containers.DROPS:
                fresh_containers.let_go(self, handler, instr.arg)
            else:
                handler(self, instr.arg)
            block.last = index
        if self.unpack is not None and (
            self.spill_all or self.generated or self.unpack.outermost().origin in self.forced
        ):
            self.flush_unpack()
        block.unpack = self.unpack

    def _switch(self) -> None:
        """From what the generator wrote to what a compiler wrote, or back."""
        self.generated = not self.generated
        self.rules = fresh_containers.rules(RULES) if self.generated else RULES

    def _drops_marker(self) -> bool:
        """Whether the ``POP`` that is executed only cleans up: its line is that of what comes before or after, a ``case`` for example."""
        return bool(self.stack) and isinstance(self.stack[-1], Marker)

    def push(self, value: Expr) -> None:
        self.stack.append(value)

    def begin(self) -> None:
        """Everything is lifted from the start."""
        self.spills = 0
        self.origins.clear()
        self.early.clear()
        self.known_forced = frozenset(self.forced)

    def force(self, origin: int) -> None:
        if origin in self.known_forced:
            raise DecompilationError(
                "a shared value could not be spilled", self.program.unit.qualname, self.instr.offset
            )
        self.forced.add(origin)

    def raw(self) -> Expr:
        """Pop the value on top, shared or not."""
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
        elif kind is UnpackedItem:
            self.stack.append(value)
            self.flush_unpack()
            return self.stack.pop()
        elif kind is Bin and id(value) in self.origins:
            self.force(self.origins.pop(id(value)))
        elif kind is fresh_containers.Fresh:
            assert isinstance(value, fresh_containers.Fresh)
            return fresh_containers.escape(self, value)
        return value

    def pops(self, count: int) -> list[Expr]:
        values = [self.pop() for _ in range(count)]
        values.reverse()
        return values

    def atomic(self, value: Expr) -> bool:
        """Whether evaluating a value later makes no difference, so that it may stay on the stack while statements run."""
        if isinstance(value, Name):
            if value.scope == "fast":
                return id(value) not in self.early
            return value.scope == "global" and value.id.startswith(self.stable or "\0")
        if isinstance(value, SliceOf):
            return all(part is None or isinstance(part, Const) for part in (value.lower, value.upper, value.step))
        return isinstance(value, _ATOMIC)

    def new_temp(self) -> Temp:
        self.spills += 1
        return Temp(self.spills, Purpose.SPILL)

    def spill(self, upto: int | None = None) -> None:
        """Give every pending value that has an effect a temporary, in evaluation order."""
        stack = self.stack
        spend(len(stack) >> 3)
        for i in self._in_order(len(stack) if upto is None else upto):
            value = stack[i]
            if self.atomic(value):
                continue
            if isinstance(value, Shared) and self.atomic(value.expr):
                continue
            if self.generated and isinstance(value, Display) and fresh_containers.as_fresh(self, i) is not None:
                continue
            if isinstance(value, IterOf):
                self.start_iterator(stack, i, self.instr.line)
                continue
            if isinstance(value, (Shared, Chain)):
                self.force(value.origin)
            if self.generated and isinstance(value, Func) and value.unit.name in COMPREHENSIONS:
                continue  # making it has no effect, and it has no text
            new = self.spilled(value)
            for j in range(i, len(stack)):
                if stack[j] is value:
                    stack[j] = new

    def spilled(self, value: Expr) -> Expr:
        """What takes the place of a value that is computed now: a temporary."""
        temp = self.new_temp()
        self.stmts.append(Assign((temp,), value, self.instr.line))
        step("compute a value before the statement", self.stmts[-1])
        return temp

    def _in_order(self, upto: int) -> Iterable[int]:
        """The lowest ``upto`` places of the stack, in the order in which their values were evaluated."""
        if not self.swapped:
            return range(upto)
        order = list(range(upto))
        for earlier, later in self.swapped:
            first = next((i for i in order if self.stack[i] is earlier), None)
            second = next((i for i in order if self.stack[i] is later), None)
            if first is not None and second is not None and order.index(second) < order.index(first):
                order.remove(second)
                order.insert(order.index(first) + 1, second)
        return order

    def start_iterator(self, stack: list[Expr], position: int, line: int | None) -> None:
        """The iterator at ``position`` is made here: for the loop after this block, or, which only a program writes, as
        a value that no loop of this block waits for."""
        value = stack[position]
        assert isinstance(value, IterOf)
        if self.generated and not self.before_loop and not value.is_async:
            made = self.new_temp()
            self.stmts.append(Assign((made,), Invoke(Const(builtins.iter), (value.value,)), line))
            stack[:] = [made if other is value else other for other in stack]
            return
        iterator = LoopIterator(value.value, value.is_async)
        self.stmts.append(ExprStmt(IteratorStart(iterator), line))
        stack[position] = iterator

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
        unpack = unpack.outermost()
        self.unpack = None
        temps: list[Expr] = []
        for i, value in enumerate(self.stack):
            if isinstance(value, UnpackedItem):
                self.stack[i] = self.new_temp()
                temps.append(self.stack[i])
        # the first item of an unpacking is on top of the stack, so the pending ones are met in reverse
        for _ in range(unpack.count - len(unpack.targets)):
            unpack.targets.append(temps.pop() if temps else self.new_temp())
        targets, value = flatten(unpack.value)
        self.spill()
        self.stmts.append(Assign((*targets, unpack.display()), value, self.instr.line))

    def store(self, target: Expr, value: Expr) -> None:
        """``target = value``, or the larger statement that it is a part of."""
        stack = self.stack
        line = self.instr.line
        if isinstance(value, UnpackedItem):
            if self.unpack is value.unpack and len(value.unpack.targets) == value.index:
                # what lies on top are the items that are stored next, which read nothing
                self.protect_name(target, value.unpack.whole(), len(stack) - value.waiting())
                value.unpack.targets.append(target)
                self._complete(value.unpack)
                return
            stack.append(value)
            self.flush_unpack()
            value = stack.pop()
        if isinstance(value, fresh_containers.Fresh):
            value = fresh_containers.escape(self, value)
        if self.generated and isinstance(target, Name) and target.scope == "fast" and self._plain_store(target, value):
            return
        if isinstance(value, Shared):
            if stack and stack[-1] is value:
                if isinstance(target, Name) and not isinstance(value.expr, (Chain, Marker)):
                    stack[-1] = Walrus(target, value.expr)
                    self._read_before(target)
                else:
                    stack[-1] = Chain((target,), value.expr, value.origin)
                return
            self.force(value.origin)
            value = value.expr
        if is_slot(value):
            self.block.used = True
        if stack and stack[-1] is value and isinstance(value, (Const, Name, Temp)):
            if isinstance(target, Name):
                self._read_before(target)
                stack[-1] = Walrus(target, value)
            else:
                stack[-1] = Chain((target,), value, self.at)
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

    def protect_name(self, target: Expr, assigned: Expr | None = None, below: int | None = None) -> None:
        """Keep a pending read of a local ahead of the store to it; only in the slots under ``below``, where that is given.

        Not that of the value which this very statement assigns: another target follows (``a, b = c = a``).
        """
        if not isinstance(target, Name) or target.scope != "fast":
            return
        pendings = self.stack[:below]
        spend(len(pendings) >> 4)
        if self.generated:
            fresh_containers.protect(self, target.id)
        for i, pending in enumerate(pendings):
            if pending is assigned and all(above is not assigned for above in self.stack[i + 1 :]):
                continue
            if isinstance(pending, Name) and pending.id == target.id and pending.scope == "fast":
                temp = self.new_temp()
                self.spill(i)
                self.stmts.append(Assign((temp,), pending, self.instr.line))
                self.stack[i] = temp

    def _read_before(self, target: Name) -> None:
        """A walrus binds ``target`` on top of the stack: what was read of it further down stays in front of it.

        Both may end up in one expression, ``f(a, (a := b))``; where a statement comes between, the read is no longer atomic.
        """
        if target.scope != "fast" or self.spill_all or self.generated:
            self.protect_name(target, self.stack[-1])
            return
        for pending in self.stack[:-1]:
            if isinstance(pending, Name) and pending.id == target.id and pending.scope == "fast":
                self.early[id(pending)] = pending

    def _augmented(self, target: Expr, value: Bin) -> bool:
        if not same_target(target, value.left):
            if id(value) in self.origins:
                self.force(self.origins.pop(id(value)))
            return False
        self.origins.pop(id(value), None)
        self.protect_name(target)
        self.emit(AugAssign(value.left, value.op, value.right, self.instr.line))
        return True

    def begin_unpack(self, value: Expr, count: int, star: int, parent: UnpackedItem | None) -> None:
        """Replace ``value`` by its ``count`` items (``star`` is the index of the starred one, or -1)."""
        unpack = self.unpack = Unpack(value, count, star, parent, self.at)
        if count == 0:
            self._complete(unpack)
        for i in reversed(range(count)):
            self.stack.append(UnpackedItem(unpack, i))

    def static_run(self, target: Name, value: Expr) -> bool:
        """3.12+ stores ``a, b = x, y`` right to left without a swap: see the run of stores as one assignment.

        Of ``_, _ = x, y`` the first store is only a ``POP`` after the second (3.13+).
        """
        stack = self.stack
        never = (
            (UnpackedItem, Marker, Shared, Chain, Walrus) if self.generated else (UnpackedItem, Marker, Shared, Chain)
        )
        if not stack or isinstance(value, never) or is_slot(value):
            return False
        instrs, index, run, depth = self.program.instrs, self.program.next[self.at], [target], 1
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
            index = self.program.next[index]
        while skipped and instrs[skipped[-1]].op == ops.RESTORE_FAST:
            skipped.pop()
        if len(run) < 2 or len({name.id for name in run}) != len(run) - twice:
            return False
        self.skip.update(skipped)
        values = [item for item in self.pops(len(skipped)) if not isinstance(item, Marker)]
        run.reverse()
        self.emit(Assign((Display("tuple", tuple(run)),), Display("tuple", (*values, value)), self.instr.line))
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
        elif not self.spill_all and self.stack and self.stack[-1] is value and isinstance(value, (Const, Name, Temp)):
            self.stack[-1] = Chain((unpack.display(),), value, unpack.origin)
            return
        targets, value = flatten(value)
        self.emit(Assign((*targets, unpack.display()), value, self.instr.line))
