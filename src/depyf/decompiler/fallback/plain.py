"""Plain symbolic execution, which guesses nothing: the last resort, for code that no compiler wrote.

Input and output: as in ``symbolic``.  Every value that crosses a statement has a temporary, and the temporary is
deleted where the original drops the value, so that no object lives longer than it did.  Slots that a handler expects
below its exception are kept in their temporaries at every moment.  With ``steps`` an iterator is a value like any
other, and ``FOR_ITER`` is one step of it; a loop can then be entered anywhere:

    __temp_0 = iter(x)
    ...
    more = True
    for __temp_1 in __temp_0:
        break
    else:
        more = False
"""

from __future__ import annotations

from collections.abc import Callable

from depyf.decompiler.bytecode import ops
from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.bytecode.ops import Instr
from depyf.decompiler.cfg.containers import Container, Containers
from depyf.decompiler.cfg.graph import Node
from depyf.decompiler.cfg.program import Program
from depyf.decompiler.fallback import plain_rules
from depyf.decompiler.fallback.caught_values import CaughtValues
from depyf.decompiler.fallback.handler_marks import Marks, caught, holds_mark, of_mark
from depyf.decompiler.ir.expr import (
    CellOf,
    Const,
    Display,
    Expr,
    Func,
    Name,
    SliceOf,
    Star,
    Temp,
    TempKey,
)
from depyf.decompiler.ir.markers import Caught, Entered, Marker, Unfinished
from depyf.decompiler.ir.stmt import Assign, Delete, Stmt
from depyf.decompiler.ir.walk_expr import children
from depyf.decompiler.lift import stores
from depyf.decompiler.lift.engine import Style
from depyf.decompiler.lift.folds.inlined_comprehensions import Once
from depyf.decompiler.lift.lifted_block import Lifted
from depyf.decompiler.lift.rules.table import RULES as _HANDLERS
from depyf.decompiler.lift.stack_values import EXC, Shared, is_slot
from depyf.decompiler.lift.stored_statements import class_call, finish_store
from depyf.decompiler.lift.symbolic import Symbolic
from depyf.errors import DecompilationError
from depyf.safety.depth import any_depth, spend

_LAZY = (Display, SliceOf, Star, Func, Marker, Const, Temp, CellOf)
_LEAVING = frozenset({ops.RETURN, ops.RAISE, ops.RERAISE})
_TAKING_ENTERED = frozenset(
    {ops.POP, ops.STORE_FAST, ops.STORE_NAME, ops.STORE_GLOBAL, ops.STORE_DEREF, ops.UNPACK_SEQUENCE, ops.UNPACK_EX}
)
_NO_TEMPS: frozenset[TempKey] = frozenset()


class PlainSymbolic(Symbolic):
    """``Symbolic`` with forced temporaries and their deletions.

    Without ``loops`` an iterator is a value, and ``FOR_ITER`` a step of it; without ``clauses`` the tests of ``except``
    and ``case`` and the exits of managers are values, too.
    """

    def __init__(
        self,
        program: Program,
        nested: Callable[[CodeUnit, bool], tuple[Stmt, ...]],
        containers: Containers,
        style: Style,
        *,
        loops: bool,
        clauses: bool,
    ) -> None:
        super().__init__(program, Once(nested), style)
        self.containers = containers
        self.steps = not loops
        self.values_only = not clauses
        self.consumed: list[Expr] = []
        self.copying = False
        self.low = 0
        self.risk: dict[int, set[TempKey]] = {}
        self.temps: dict[TempKey, Temp] = {}
        self.marks = Marks(containers)
        self.caught = CaughtValues(program, containers.regions)
        self._inside: dict[int, tuple[Expr, frozenset[TempKey]]] = {}
        unit = program.unit
        unbound = {i.arg for i in program.instrs if i.op in (ops.DELETE_FAST, ops.LOAD_FAST_CLEAR)}
        self.bound = frozenset(unit.varnames[: _argument_count(unit)]) - unbound
        self.forced.update(
            index
            for index, instr in enumerate(program.instrs)
            if instr.op == ops.BINARY and instr.arg[-1] == "=" or instr.op in (ops.UNPACK_SEQUENCE, ops.UNPACK_EX)
        )

    # What the lifter asks of an engine.

    guesses_nothing = True

    def guesses(self) -> int:
        return super().guesses() + len(self.marks)

    def entered(self, node: Node, entry: list[Expr]) -> list[Expr]:
        return self.marks.entered(node, entry)

    def handler_entry(self, region: int, entry: list[Expr], depth: int) -> list[Expr]:
        return self.marks.bases.get(region, entry)[:depth]

    def caught_base(self, region: int, base: list[Expr]) -> list[Expr]:
        return self.marks.caught_base(region, base)

    def pushed(self, region: int, name: str) -> Expr:
        pushed = super().pushed(region, name)
        return Caught(region) if pushed is EXC else pushed

    # What the rules of ``Symbolic`` call.

    def raw(self) -> Expr:
        value = super().raw()
        self.consumed.append(value)
        if len(self.stack) < self.low:
            self.low = len(self.stack)
        return value

    def spill(self, upto: int | None = None) -> None:
        before = list(self.stack)
        super().spill(upto)
        # What a spilled value was made of is used up, unless the stack still has it elsewhere, and goes at once: after
        # the statement that is to come nothing would know that it was a part of the value.
        gone = [old for old, new in zip(before, self.stack, strict=True) if old is not new]
        if not gone:
            return
        used = _NO_TEMPS.union(*[self.inside(value) for value in gone])
        dead = used - self.held() - self._used_up()
        if dead:
            self.drop(dead)
        for value in gone:
            self.consumed.extend(caught(value))
        self.consumed.extend(self.temps[key] for key in sorted(used - dead))

    def spilled(self, value: Expr) -> Expr:
        if isinstance(value, Display) and value.kind == "arguments":
            return super().spilled(Display("tuple", value.elts))
        return super().spilled(value)

    def force(self, origin: int) -> None:
        raise DecompilationError("a value is shared", self.program.unit.qualname, self.instr.offset)

    def atomic(self, value: Expr) -> bool:
        if isinstance(value, Name):
            return value.scope == "fast" and value.id in self.bound
        if isinstance(value, Func) or class_call(value) is not None:
            return not self.copying  # printed where the statement that binds it stands
        return super().atomic(value)

    def new_temp(self) -> Temp:
        temp = super().new_temp()
        self.temps[temp.key] = temp
        return temp

    def store(self, target: Expr, value: Expr) -> None:
        if isinstance(value, Caught) and isinstance(target, Name):
            if target.id in self.containers.regions.bound_names:
                value = EXC  # it becomes ``except E as name``
        stores.protect_name(self, target)
        finish_store(self, target, value, self.instr.line)

    # Execution.

    def run(self, block: Lifted, code: list[int], before_loop: bool = True) -> None:
        self.block, self.stack, self.stmts = block, block.stack, block.stmts
        self.open, self.unpack = block.open, None
        floor = self._floor(block.container)
        self.spills = 0
        instrs = self.program.instrs
        self._name_entered(block, code)
        for index in code:
            instr = instrs[index]
            self.at, self.instr = index, instr
            if instr.line is not None:
                if block.line is None:
                    block.line = instr.line
                block.lines.append(instr.line)
            self.consumed.clear()
            self.low = len(self.stack)
            if self.stack:
                self._note_risk(block.container)
            if instr.op not in ops.SILENT:
                self.marks.note_bases(block.container, self.stack)
            if not plain_rules.apply(self, block.container):
                rule = _HANDLERS.get(instr.op)
                if rule is None:
                    raise DecompilationError(f"no rule for {instr.op}", self.program.unit.qualname, instr.offset)
                rule(self, instr.arg)
            block.last = index
            self._store_all(floor)
            if self.stack or self.consumed:
                self._note_risk(block.container)
        block.spills = self.spills

    def _name_entered(self, block: Lifted, code: list[int]) -> None:
        """Give what a manager returned a temporary, unless the body of the ``with`` stores or drops it at once."""
        top = self.stack[-1] if self.stack and not block.stmts else None
        if isinstance(top, Entered) and code:
            if self.program.instrs[code[0]].op not in _TAKING_ENTERED:
                temp = Temp(len(self.stack) - 1)
                self.temps[temp.key] = temp
                self.stmts.append(Assign((temp,), top, self.program.instrs[code[0]].line))
                self.stack[-1] = temp

    def instr_after(self) -> Instr:
        """The next instruction; the current one if several follow, or none."""
        after = self.program.successors(self.at)
        return self.program.instrs[after[0]] if len(after) == 1 else self.instr

    def begin(self) -> None:
        super().begin()
        self.marks.bases = {}

    def _note_risk(self, container: int) -> None:
        """An exception may leave these temporaries bound: those on the stack, and those that this instruction takes."""
        held = self.held() | self._used_up()
        if held:
            self.risk.setdefault(container, set()).update(held)

    def resets(self) -> dict[int, tuple[Expr, ...]]:
        """What the handler of each ``try`` must unbind: temporaries of slots that are gone there, and exceptions."""
        tree = self.containers.tree
        for container in reversed(tree):
            risk = self.risk.get(container.id)
            if risk and container.parent >= 0:
                self.risk.setdefault(container.parent, set()).update(risk)
        found: dict[int, tuple[Expr, ...]] = {}
        for container in tree:
            if container.kind == "try" and container.id in self.risk:
                depth = self.containers.regions.table[container.region].depth
                found[container.id] = tuple(
                    self.temps[key] for key in sorted(self.risk[container.id]) if key >= Temp(depth).key
                )
            if container.kind == "try" and self.values_only:
                found[container.id] = (*found.get(container.id, ()), *self._unwound(container))
        return found

    def _unwound(self, container: Container) -> list[Expr]:
        """The exceptions caught around a ``try`` that its handler does not find on the stack."""
        kept = {marker.region for value in self.marks.bases.get(container.region, ()) for marker in caught(value)}
        found: list[Expr] = []
        around = container.parent
        while around > 0:
            outer = self.containers.tree[around]
            if outer.kind == "handler" and outer.region not in kept:
                found.append(Caught(outer.region))
            around = outer.parent
        return found

    def _floor(self, container: int) -> int:
        """How many slots the handler around a container finds on the stack."""
        tree = self.containers.tree
        while container > 0 and tree[container].kind != "try":
            container = tree[container].parent
        return self.containers.regions.table[tree[container].region].depth if container > 0 else 0

    def _store_all(self, floor: int) -> None:
        """After each instruction: run what used up a temporary, drop what is gone, keep what a handler expects."""
        op = self.instr.op
        if op in _LEAVING:
            return
        consumed = self._used_up()
        if op == ops.GET_AITER:
            consumed = _NO_TEMPS  # it is emptied at the head of the loop, which nothing may stand before
        elif op == ops.BRANCH:
            self.spill()
            dead = consumed - self.held()
            self.block.cond_temps = dead
            consumed = self._used_up() - dead
        elif consumed and any(self._must_run(value) for value in self.stack[self.low :]):
            self.spill()
            consumed = self._used_up()
        if consumed:
            consumed -= self.held()
        if consumed:
            self.drop(consumed)
        if self.values_only and op != ops.BRANCH:
            self._forget_caught()
        if self.block.low < floor:
            self.fix(floor)

    def _forget_caught(self) -> None:
        """Delete the name of a caught exception with the last stack slot that held it."""
        gone = {marker.region: marker for value in self.consumed for marker in caught(value)}
        for value in self.stack if gone else ():
            for marker in caught(value):
                gone.pop(marker.region, None)
        container, tree = self.block.container, self.containers.tree
        while gone and container > 0:
            region = tree[container].region
            if tree[container].kind == "handler" and region in gone:
                marker = gone.pop(region)
                self.spill()
                self.stmts.append(Delete((marker,), self.instr.line))
            container = tree[container].parent

    def _used_up(self) -> frozenset[TempKey]:
        """The temporaries in what this instruction has taken off the stack."""
        found = _NO_TEMPS
        for value in self.consumed:
            found |= self.inside(value)
        return found

    def _must_run(self, value: Expr) -> bool:
        if isinstance(value, Display) and value.kind == "list" and self.values_only:
            # where paths join, the proof forgets what is in a list that both codes hold: its items get no temporaries
            return self.instr_after().op != ops.LIST_EXTEND and bool(self.inside(value))
        if isinstance(value, _LAZY) and not (isinstance(value, Display) and value.kind == "set"):
            return False
        if class_call(value) is not None:
            return False
        return bool(self.inside(value))

    def held(self) -> frozenset[TempKey]:
        """Temporaries on the stack."""
        spend(len(self.stack) >> 4)
        found: set[TempKey] = set()
        for value in self.stack:
            kind = type(value)
            if kind is not Name and kind is not Const:
                known = self._inside.get(id(value))
                found |= self.inside(value) if known is None else known[1]
        return frozenset(found)

    def drop(self, dead: frozenset[TempKey]) -> None:
        self.stmts.append(Delete(tuple(self.temps[key] for key in sorted(dead)), self.instr.line))

    @any_depth
    def inside(self, value: Expr) -> frozenset[TempKey]:
        """The temporaries in a value."""
        if isinstance(value, Temp):
            self.temps.setdefault(value.key, value)
            alone = frozenset((value.key,))
            self._inside[id(value)] = value, alone
            return alone
        if isinstance(value, (Const, Name)):
            return _NO_TEMPS
        known = self._inside.get(id(value))
        if known is not None:
            return known[1]
        found: set[TempKey] = set()
        if isinstance(value, Shared):
            found |= self.inside(value.expr)
        elif isinstance(value, Marker):
            if isinstance(value, Unfinished):
                for part in children(value):
                    found |= self.inside(part)
        elif isinstance(value, Func):
            for part in (*value.defaults, *(v for _, v in value.kwdefaults), *(v for _, v in value.annotations)):
                found |= self.inside(part)
        else:
            for part in children(value):
                if isinstance(part, Expr):
                    found |= self.inside(part)
        self._inside[id(value)] = (value, frozenset(found))
        return self._inside[id(value)][1]

    def fix(self, count: int) -> None:
        """Bring the values of the lowest ``count`` slots to the temporaries of their positions."""
        stack = self.stack
        targets: list[Expr] = []
        values: list[Expr] = []
        unmarked = self.marks.unmarked(self.block.container)
        for position in range(min(count, len(stack))):
            value = stack[position]
            kept = isinstance(value, Marker) and not (position in unmarked and holds_mark(value))
            if kept or isinstance(value, Temp) and value.key == Temp(position).key:
                continue
            targets.append(Temp(position))
            values.append(value)
        if not targets:
            return
        self.consumed.clear()
        self.spill()
        used = self._used_up()
        wanted = {target.key for target in targets if isinstance(target, Temp)}
        values = [stack[target.number] for target in targets if isinstance(target, Temp)]
        for position in range(count, len(stack)):
            value = stack[position]
            if not isinstance(value, Marker) and self.inside(value) & wanted:
                temp = self.new_temp()
                self.stmts.append(Assign((temp,), value, self.instr.line))
                stack[position] = temp
        old = used.union(*[self.inside(value) for value in values])
        marks = [value for value in values if holds_mark(value)]
        self.move(targets, [of_mark(value) for value in values], self.instr.line)
        for target in targets:
            assert isinstance(target, Temp)
            self.temps[target.key] = target
            stack[target.number] = target
        dead = old - self.held()
        if dead:
            self.drop(dead)
        if marks and self.values_only:
            self.consumed.extend(marks)
            self._forget_caught()

    def move(self, targets: list[Expr], values: list[Expr], line: int | None) -> None:
        """Assign all at once where one value is in the way of another."""
        if len(targets) > 1 and any(is_slot(part) for value in values for part in plain_rules.temporaries(value)):
            self.stmts.append(Assign((Display("tuple", tuple(targets)),), Display("tuple", tuple(values)), line))
            return
        for target, value in zip(targets, values, strict=True):
            self.stmts.append(Assign((target,), value, line))

    def _forget_moved(self, values: list[Expr], entries: list[list[Expr] | None]) -> None:
        """Delete the name of a caught exception that is kept in a temporary from here on."""
        named = {marker.region: marker for value in values for marker in caught(value)}
        if not named:
            return
        tested = () if self.block.cond is None else (self.block.cond,)
        for value in [*tested, *[value for entry in entries for value in entry or ()]]:
            for marker in caught(value):
                named.pop(marker.region, None)
        self.stmts.extend(Delete((marker,), self.block.line) for marker in named.values())

    def finish(self, block: Lifted, entries: list[list[Expr] | None]) -> bool:
        """Leave the values on the stack of a finished block to the temporaries of their positions.

        ``entries`` are the stacks its successors expect; what one of them does not is dropped on the way there.
        """
        self.block, self.stack, self.stmts = block, block.stack, block.stmts
        self.spills = block.spills
        stack = self.stack
        wanted = [frozenset(Temp(i).key for i, value in enumerate(entry or ()) if is_slot(value)) for entry in entries]
        kept: frozenset[TempKey] = frozenset().union(*wanted) if wanted else _NO_TEMPS
        tested = block.cond_temps
        targets: list[Expr] = []
        values: list[Expr] = []
        for after, expected in zip(block.succs, entries, strict=True):
            self.marks.note_entry(after, stack, expected or ())
        for position, value in enumerate(stack):
            if Temp(position).key not in kept or isinstance(value, Marker) and not holds_mark(value):
                continue
            if isinstance(value, Temp) and value.key == Temp(position).key:
                continue
            targets.append(Temp(position))
            values.append(of_mark(value))
        line = block.line
        cond = block.cond
        if cond is not None and not isinstance(cond, Marker) and not block.steps:
            inside = self.inside(cond)
            if any(isinstance(target, Temp) and target.key in inside for target in targets):
                saved = self.new_temp()
                block.stmts.append(Assign((saved,), cond, line))
                block.cond = saved
                if tested:
                    self.drop(tested)
                tested = frozenset((saved.key,))
        held = self.held()
        if targets:
            self.move(targets, values, line)
            if self.values_only:
                self._forget_moved(values, entries)
        for key in kept:
            self.temps.setdefault(key, Temp(key[1]))
        if kept:
            self.risk.setdefault(block.container, set()).update(kept)
        if not entries:
            return True
        dead = held - kept - tested
        if block.cond is not None and not isinstance(block.cond, Marker) and not block.steps:
            tested |= dead & self.inside(block.cond)
            dead -= tested
        if dead:
            self.drop(dead)
        present = frozenset(key for key in kept if key[1] < len(stack) + bool(block.steps))
        for side, entry in enumerate(wanted):
            gone = (tested | present) - entry
            if block.steps and side == 1:
                gone -= {Temp(len(stack)).key}
            block.drops.append(tuple(self.temps[key] for key in sorted(gone)))
        return True


def _argument_count(unit: CodeUnit) -> int:
    return unit.argcount + unit.kwonlyargcount + bool(unit.flags & 4) + bool(unit.flags & 8)
