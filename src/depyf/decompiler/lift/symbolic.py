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
)
from depyf.decompiler.ir.markers import IteratorStart, LoopIterator, Marker
from depyf.decompiler.ir.stmt import (
    Assign,
    ExprStmt,
    Stmt,
)
from depyf.decompiler.lift import fresh_containers, stores, unpackings
from depyf.decompiler.lift.engine import Engine, Style
from depyf.decompiler.lift.lifted_block import Lifted
from depyf.decompiler.lift.rules.calls import COMPREHENSIONS
from depyf.decompiler.lift.rules.table import RULES
from depyf.decompiler.lift.stack_values import (
    Chain,
    IterOf,
    Shared,
    Unpack,
    UnpackedItem,
    is_slot,
)
from depyf.errors import DecompilationError
from depyf.safety.depth import spend
from depyf.safety.rewrites import step

_ATOMIC = (Const, Marker, Temp, CellOf, UnpackedItem, fresh_containers.Fresh)


def _bound_parameters(program: Program) -> frozenset[str]:
    """The parameters that nothing unbinds."""
    unbound = {i.arg for i in program.instrs if i.op in (ops.DELETE_FAST, ops.LOAD_FAST_CLEAR)}
    return frozenset(program.unit.params) - unbound


class Symbolic(Engine):
    """Executes instructions of one program over a symbolic stack.

    ``nested`` decompiles a nested code object, and is told whether it must be an expression, into the body of a
    ``Func``.
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
        """The last starred element of a display on the stack and the number of elements up to it, by its place."""

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
            unpackings.flush_unpack(self)
        block.unpack = self.unpack

    def _switch(self) -> None:
        """From what the generator wrote to what a compiler wrote, or back."""
        self.generated = not self.generated
        self.rules = fresh_containers.rules(RULES) if self.generated else RULES

    def _drops_marker(self) -> bool:
        """Whether the ``POP`` only cleans up: its line is that of what comes before or after, such as a ``case``."""
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
            unpackings.flush_unpack(self)
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
        """Whether a value may be evaluated later, so that it can stay on the stack while statements run."""
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

    def store(self, target: Expr, value: Expr) -> None:
        """``target = value``, or the larger statement that it is a part of."""
        stores.store(self, target, value)

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
            unpackings.flush_unpack(self)
        if self.stack:
            self.spill()
        self.stmts.append(stmt)
