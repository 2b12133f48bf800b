"""Lifts basic blocks, and folds conditions, conditional expressions and comprehensions on the way.

Input: ``Graph``.  Output: ``Lifted`` blocks whose stacks are empty but for markers: what the stack carried between
blocks became part of an expression where a fold applies, and a temporary per stack position elsewhere.

Blocks are lifted in reverse postorder; before a block is lifted every fold that ends there is tried, so that it can
continue the expression its only predecessor left on the stack:

    A: if a goto T else F;  T: push x, goto J;  F: push y, goto J      ->   A: push (x if a else y), then J
"""

from __future__ import annotations

import contextlib
from functools import cached_property
from itertools import takewhile

from depyf.decompiler.bytecode import ops
from depyf.decompiler.cfg.assertions import Assertions
from depyf.decompiler.cfg.graph import Graph, Node
from depyf.decompiler.cfg.program import ASYNC_FOR_ITER, WITH_EXIT
from depyf.decompiler.ir.expr import Bin, Cmp, Comp, DictOf, Display, Expr, Name, Temp
from depyf.decompiler.ir.markers import (
    Accumulator,
    ForTest,
    IteratorStart,
    LoopItem,
    LoopIterator,
    ManagerExit,
    Marker,
    NullSlot,
)
from depyf.decompiler.ir.stmt import Assign, ExprStmt, Stmt
from depyf.decompiler.lift import fresh_containers
from depyf.decompiler.lift.comprehensions import fold_comprehension, is_acc
from depyf.decompiler.lift.conditions import fold_chain_end, fold_test, fold_value
from depyf.decompiler.lift.engine import Style
from depyf.decompiler.lift.ignored_tests import ignore_test, put_test
from depyf.decompiler.lift.inlined_comprehensions import LOOPS, before_loop, put_comprehension, skip_loop
from depyf.decompiler.lift.lifted_block import Lifted
from depyf.decompiler.lift.negation import Groups
from depyf.decompiler.lift.rules.calls import COMPREHENSIONS
from depyf.decompiler.lift.stack_values import Chain, IterOf, LinkedLeft, Shared, is_slot
from depyf.decompiler.lift.symbolic import Symbolic
from depyf.decompiler.lift.values_over_loops import stored_above
from depyf.errors import DecompilationError
from depyf.safety.rewrites import step

_RETURNING = frozenset({ops.RETURN, ops.POP, ops.POP_EXCEPT, ops.SWAP, ops.ROT, WITH_EXIT})
_STORES = frozenset({ops.STORE_FAST, ops.DELETE_FAST, ops.LOAD_FAST_CLEAR})
_ITERATES = frozenset({ops.GET_ITER, ops.GET_AITER})
OUTSIDE = -1
"""The number of the predecessor on an exception edge."""


class Lifter:
    """Lifts one graph; ``blocks`` and ``preds`` describe what is left after folding."""

    def __init__(self, graph: Graph, engine: Symbolic) -> None:
        self.graph = graph
        self.unit = graph.program.unit
        self.asserts = Assertions(graph.program)
        self.symbolic = engine
        self.symbolic.implicit = graph.implicit
        self._protected: dict[int, int] = {}
        self.entered: dict[int, int] = {}
        """The region of each block that exceptions enter."""
        self.generated = engine.style.generated
        self.fold = engine.style.fold
        self.wide_folds = engine.style.wide_folds
        self.peeled = engine.style.peeled
        self.blocks: dict[int, Lifted] = {}
        self.preds: dict[int, list[int]] = {}
        self.position: dict[int, int] = {}
        self.merged: dict[int, int] = {}
        self.dead: set[int] = set()
        self.named_slots = False
        self.comprehensions: dict[int, Comp] = {}
        """What was folded, by the test of its outermost loop."""
        self.ready: dict[int, Comp] = {}
        self.groups: Groups = {}
        self.unlinked: set[int] = set()
        """Blocks whose kept operand turned out to be no link of a chained comparison."""
        self.uncarried: set[int] = set()
        """Blocks that other edges, lifted later, turned out to enter with other values."""

    @cached_property
    def _stored(self) -> set[object]:
        """The locals that the function stores to; not those that a resume function unpacks at its beginning alone."""
        instrs = self.graph.program.instrs
        head = next((at for at, instr in enumerate(instrs) if instr.op == ops.JUMP), 0) if self.peeled else 0
        stores = [instr.arg for instr in instrs if instr.op in _STORES]
        first = {instr.arg for instr in instrs[:head] if instr.op in _STORES}
        return {name for name in stores if name not in first or stores.count(name) > 1}

    def run(self) -> dict[int, Lifted]:
        """Lift everything; lifts again as long as sharing guesses fail."""
        if self.symbolic.guesses_nothing and any(instr.op in LOOPS for instr in self.graph.program.instrs):
            ordinary = Lifter(self.graph, Symbolic(self.graph.program, self.symbolic.nested, Style()))
            with contextlib.suppress(DecompilationError):
                ordinary.run()
                self.ready = ordinary.comprehensions
        for _ in range(50):
            before = self._guesses()
            self._lift_all()
            if self._guesses() == before:
                return self.blocks
        raise DecompilationError("values shared on the stack reach no fixpoint", self.unit.qualname)

    def _guesses(self) -> tuple[int, int, int]:
        """How many guesses have failed so far."""
        return self.symbolic.guesses(), len(self.unlinked), len(self.uncarried)

    def _lift_all(self) -> None:
        graph = self.graph
        self.symbolic.begin()
        self.blocks = {}
        self.comprehensions = {}
        self.groups = {}
        self.linked_from: dict[int, int] = {}
        self._protected = {}
        self.merged = {}
        self.dead = set()
        self.preds = {node: list(preds) for node, preds in graph.preds.items()}
        self.entered = {}
        for region, target in graph.containers.handler_entries.items():
            self.entered.setdefault(target, region)
        for target in sorted(self.entered):
            if target in graph.nodes:
                self.preds[target].append(OUTSIDE)
        self.preds[graph.entry].append(OUTSIDE)
        order = graph.order()
        self.position = {name: index for index, name in enumerate(order)}
        for name in order:
            if self.fold:
                self._folds_before(name)
            if name not in self.dead:
                self._lift(graph.nodes[name])
        for block in self.blocks.values():
            if block.entry:
                if any(isinstance(value, LinkedLeft) for value in block.entry):
                    self.unlinked.add(self.linked_from[block.id])
                if not self._enters_alike(block):
                    self.uncarried.add(block.id)
            self._materialise(block)

    def _folds_before(self, name: int) -> None:
        changed = True
        while changed:
            joins = len(self.preds[name]) > 1  # where the ways of an expression meet
            changed = joins and (fold_value(self, name) or fold_chain_end(self, name)) or fold_comprehension(self, name)
            if changed:
                step("fold the arms of an expression", name)

    def absorb(self, parent: Lifted, child: int) -> None:
        """Note that the content of a block now belongs to ``parent``."""
        block = self.blocks.pop(child, None)
        self.merged[child] = parent.id
        if block is not None:
            parent.lines.extend(block.lines)
            parent.last = max(parent.last, block.last)
            parent.code.extend(block.code)

    def set_succs(self, block: Lifted, succs: list[int]) -> None:
        """Replace the successors of ``block``, keeping ``preds`` true."""
        before, block.succs = block.succs, succs
        added = list(succs)
        for old in before:
            if old in added:
                added.remove(old)  # thousands of tests may lead there: leave it as it is
            else:
                self.preds[old].remove(block.id)
        for new in added:
            self.preds[new].append(block.id)

    def is_loop_head(self, name: int) -> bool:
        """Whether an edge leads back to a block."""
        position = self.position
        return any(p != OUTSIDE and position[p] >= position[name] for p in self.preds[name])

    def in_expression(self, block: Lifted) -> bool:
        """Whether a block is part of a lambda or comprehension, where no statement can be."""
        return self.unit.name.startswith("<") and self.unit.name != "<module>" or any(map(is_acc, block.entry))

    def only_pred(self, name: int) -> Lifted | None:
        """The one predecessor of a block, if it has exactly one edge into it and that one is lifted."""
        preds = self.preds[name]
        if len(preds) != 1 or preds[0] == OUTSIDE:
            return None
        return self.blocks.get(preds[0])

    def _lift(self, node: Node) -> None:
        before = self.only_pred(node.id) if self.fold else None
        if (
            before is not None
            and before.cond is None
            and before.container == node.container
            and before.succs == [node.id]
            and before.id != node.id
            and not self._is_loop_test(node.id)
            and (node.id not in self.graph.barriers or _holds_value(before))
        ):
            self.preds[node.id].clear()
            self.merged[node.id] = before.id
            for after in node.succs:
                preds = self.preds[after]
                preds[preds.index(node.id)] = before.id
            before.succs = list(node.succs)
            self._execute(before, node.code)
            before.last = max(before.last, node.end)
        elif self.fold and self._split_return(node):
            return
        else:
            entry = self._entry(node)
            block = Lifted(node.id, node.container, len(entry), [], list(entry), list(entry), [], list(node.succs))
            block.low = len(entry)
            block.last = node.id
            self.blocks[node.id] = block
            self._note_protected(block)
            start = before_loop(self, node) if node.succs and node.succs[0] in self.ready else node.code
            if len(start) < len(node.code):
                skip_loop(self, block, node)
            self._execute(block, start)
            if len(start) < len(node.code):
                put_comprehension(self, block, node, start)
            block.last = max(block.last, node.end)
        block = self.blocks[self.merged.get(node.id, node.id)]
        if self.fold:
            while True:
                parent = self.only_pred(block.id)
                if parent is None or not fold_test(self, parent, block):
                    break
                step("fold a test into the one before it", parent.id)
                block = parent
            ignore_test(self, block)

    def _note_protected(self, block: Lifted) -> None:
        """Remember the first block of every region: its entry tells what the handler finds on the stack."""
        tree = self.graph.containers.tree
        container = tree[block.container]
        while container.kind != "root":
            if container.kind == "try":
                if container.region in self._protected:
                    return
                self._protected[container.region] = block.id
            container = tree[container.parent]

    def _split_return(self, node: Node) -> bool:
        """Undo the merging of ``return`` copies whose values did not fold into one expression."""
        chain = self._returning(node)
        if not chain:
            return False
        before = [self.blocks.get(p) for p in self.preds[node.id]]
        anywhere = all(self.graph.program.instrs[i].op != WITH_EXIT for part in chain for i in part.code)
        for block in before:
            if block is None or block.cond is not None or block.container != node.container and not anywhere:
                return False
        for block in before:
            assert block is not None
            block.succs = []
            for part in chain:
                self._execute(block, part.code)
        for part in chain:
            self.preds[part.id].clear()
            self.dead.add(part.id)
        return True

    def _returning(self, node: Node) -> list[Node]:
        """The nodes from ``node`` on if all they do is to leave ``with`` blocks and return the value on the stack."""
        instrs = self.graph.program.instrs
        chain = [node]
        while True:
            part = chain[-1]
            if not part.code or instrs[part.code[0]].op not in _RETURNING:
                return []
            if any(instrs[i].op not in _RETURNING for i in part.code):
                return []
            if not part.succs:
                return chain if instrs[part.code[-1]].op == ops.RETURN else []
            after = self.graph.nodes[part.succs[0]]
            if len(part.succs) > 1 or self.preds[after.id] != [part.id] or after.container != node.container:
                return []
            chain.append(after)

    def _execute(self, block: Lifted, code: list[int]) -> None:
        block.code.extend(code)
        before_loop = block.cond is None and len(block.succs) == 1 and self._is_loop_test(block.succs[0])
        rest = code if block.tested is None else put_test(self.symbolic, block, code, before_loop)
        self.symbolic.run(block, rest, before_loop)
        if block.succs:
            if self.symbolic.generated:
                for i in range(len(block.stack)):
                    fresh_containers.as_fresh(self.symbolic, i)
            self._mark_iterators(block, code)

    def _mark_iterators(self, block: Lifted, code: list[int]) -> None:
        """Start the iterators that ``code``, the part of ``block`` executed last, has left on the stack."""
        stack, instrs = block.stack, self.graph.program.instrs
        if any(instrs[i].op in _ITERATES for i in code):  # or every short circuit would look at all of a wide stack
            for i, value in enumerate(stack):
                if isinstance(value, IterOf):
                    self.symbolic.start_iterator(stack, i, self.symbolic.instr.line or block.line)
        if block.cond is None and len(block.succs) == 1 and self._is_loop_test(block.succs[0]):
            # no statement keeps a value right below the iterator of its loop; that of a comprehension is its result
            below = len(stack) - 2 - sum(isinstance(top, NullSlot) for top in stack[-1:])
            iterator = stack[below + 1] if below >= 0 else None
            made_here = isinstance(iterator, LoopIterator)
            result = stack[below] if made_here or below >= 0 and self.unit.name in COMPREHENSIONS else None
            if isinstance(result, fresh_containers.Fresh):
                held = sum(part is result for value in stack for part in fresh_containers.inside(value))
                result = fresh_containers.display_of(result) if held == 1 else result
            if isinstance(result, Display) and not result.elts:
                stack[below] = Accumulator(result.kind)
            elif isinstance(result, DictOf) and not result.items:
                stack[below] = Accumulator("dict")

    def _is_generated(self, node: Node) -> bool:
        written = self.symbolic.written
        return self.generated and (written is None or bool(node.code) and node.code[0] in written)

    def _is_loop_test(self, name: int) -> bool:
        node = self.graph.nodes[name]
        return bool(node.code) and self.graph.program.instrs[node.code[0]].op in (ops.FOR_ITER, ASYNC_FOR_ITER)

    def _entry(self, node: Node) -> list[Expr]:
        """The stack on entry: markers as they are, any other value as the temporary of its position."""
        known = [self.blocks[p] for p in self.preds[node.id] if p in self.blocks]
        if not known:
            if node.id == self.graph.entry:
                return []
            if node.id in self.entered:
                return self._handler_entry(self.entered[node.id])
            raise DecompilationError("block without predecessor", self.unit.qualname)
        before = known[0]
        stack = list(before.stack)
        if before.steps:
            if before.succs[1] == node.id:
                del stack[len(stack) - before.steps :]
            else:
                stack.append(Temp(len(stack)))
        if isinstance(before.cond, ForTest):
            slots = 1 + sum(isinstance(value, NullSlot) for value in stack[-1:])
            if before.succs[1] == node.id:
                del stack[len(stack) - slots :]
            else:
                stack.append(LoopItem(before.id))
        elif isinstance(before.cond, Cmp) and self.fold:
            linked = self._chain_link(before, node.id)
            if linked is not None:
                return linked
        if self._is_generated(node) and len(known) == 1 and node.id not in self.uncarried:
            kept = frozenset[str]() if len(self.preds[node.id]) == 1 else stored_above(self.graph, node)
            if kept is not None:
                return self._kept(stack, kept)
        single = (len(known) == 1 or self.peeled) and node.id not in self.uncarried
        entry = [self._carried(value, i, single) for i, value in enumerate(stack)]
        return self.symbolic.entered(node, entry)

    def _enters_alike(self, block: Lifted) -> bool:
        """Whether every edge leads to ``block`` with the variables that it takes to be on the stack."""
        carried = [(i, value) for i, value in enumerate(block.entry) if isinstance(value, Name)]
        before = (self.blocks.get(self.merged.get(p, p)) for p in self.preds[block.id]) if carried else ()
        return all(
            isinstance(left := known.stack[i], Name) and left.id == value.id
            for known in before
            if known is not None
            for i, value in carried
            if i < len(known.stack)
        )

    def _kept(self, stack: list[Expr], stored: frozenset[str]) -> list[Expr]:
        """The stack on entry of a block where it is what the block before left, but for the locals that are ``stored``."""
        made: dict[int, fresh_containers.Fresh] = {}
        return [
            fresh_containers.copy_fresh(value, made)
            if self.symbolic.atomic(value) and not is_slot(value) and not fresh_containers.names(value) & stored
            else Temp(i)
            for i, value in enumerate(stack)
        ]

    def _carried(self, value: Expr, position: int, single: bool) -> Expr:
        if isinstance(value, Marker):
            return value
        if self.symbolic.guesses_nothing:
            return Temp(position)
        if isinstance(value, Name) and value.scope == "fast" and value.id not in self._stored:
            if single or value.id.startswith("."):
                return value
        return Temp(position)

    def _chain_link(self, before: Lifted, name: int) -> list[Expr] | None:
        """Entry stack of the block that compares on with the right operand of ``before.cond``."""
        test = before.cond
        assert isinstance(test, Cmp)
        stack = before.stack
        at = len(stack) - (2 if before.keep is not None else 1)
        if before.id in self.unlinked or at < 0 or before.succs[0] != name or len(self.preds[name]) != 1:
            return None
        shared = stack[at]
        if not isinstance(shared, Shared) and not (shared is test.rights[-1] and self._drops_at(before.succs[1])):
            return None
        inner = shared.expr if isinstance(shared, Shared) else shared
        if inner is not test.rights[-1]:
            return None
        entry: list[Expr] = [self._carried(value, i, False) for i, value in enumerate(stack)]
        entry[at] = LinkedLeft(test)
        self.linked_from[name] = before.id
        return entry

    def _drops_at(self, name: int) -> bool:
        """Whether a block begins by dropping the kept operand of a failed chained comparison."""
        instrs = self.graph.program.instrs
        code = self.graph.nodes[name].code
        return bool(code) and instrs[code[0]].op in (ops.POP, ops.SWAP, ops.ROT)

    def _handler_entry(self, region: int) -> list[Expr]:
        containers = self.graph.containers
        record = containers.regions.table[region]
        first = self._protected.get(region, OUTSIDE)
        block = self.blocks.get(self.merged.get(first, first))
        if block is not None:
            found = self.symbolic.handler_entry(region, block.entry, record.depth)
            base = [self._carried(value, i, self.peeled) for i, value in enumerate(found)]
            base = self.symbolic.caught_base(region, base)
            if len(base) < record.depth:
                raise DecompilationError("handler expects a deeper stack", self.unit.qualname)
            if record.kind == "with":
                while base and not isinstance(base[-1], ManagerExit):
                    base.pop()
                return base[:-1]
            return base + [self.symbolic.pushed(region, name) for name in record.pushes]
        raise DecompilationError("handler of no block", self.unit.qualname)

    def _materialise(self, block: Lifted) -> None:
        """Give what is left on the stack at the end of a block to the temporaries of the positions."""
        entries = [self.blocks[s].entry if s in self.blocks else None for s in block.succs]
        if self.symbolic.finish(block, entries):
            self.named_slots = True
            return
        force = self.symbolic.force
        if block.unpack is not None and block.unpack.outermost().origin not in self.symbolic.forced:
            force(block.unpack.outermost().origin)
        for shared in block.open.values():
            if shared.origin not in self.symbolic.forced:
                force(shared.origin)
        if not block.succs:
            return
        targets: list[Expr] = []
        values: list[Expr] = []
        for i, value in enumerate(block.stack):
            if isinstance(value, Marker) or (is_slot(value) and isinstance(value, Temp) and value.number == i):
                continue
            if all(entry is None or i >= len(entry) or not is_slot(entry[i]) for entry in entries):
                continue
            if isinstance(value, Shared):
                if value is block.keep and i == len(block.stack) - 1:
                    targets.append(Temp(i))
                    values.append(value.expr)
                    block.cond = Temp(i)
                    continue
                if value.origin not in self.symbolic.forced:
                    force(value.origin)
                value = value.expr
            if isinstance(value, Chain) and value.origin not in self.symbolic.forced:
                force(value.origin)
            if isinstance(value, Bin) and id(value) in self.symbolic.origins:
                force(self.symbolic.origins.pop(id(value)))
            if isinstance(value, fresh_containers.Fresh):
                self.symbolic.stack, self.symbolic.stmts = block.stack, block.stmts
                block.stack[i] = Temp(i)
                value = fresh_containers.escape(self.symbolic, value)
            targets.append(Temp(i))
            values.append(value)
        if not targets:
            return
        self.named_slots = True
        if block.used and block.cond is not None and not isinstance(block.cond, (Marker, Temp)):
            for i, value in enumerate(values):
                if not self.symbolic.atomic(value):  # it was evaluated before the test
                    values[i] = self.symbolic.new_temp()
                    block.stmts.append(Assign((values[i],), value, block.line))
            saved = self.symbolic.new_temp()
            block.stmts.append(Assign((saved,), block.cond, block.line))
            block.cond = saved
        if len(targets) > 1 and any(is_slot(value) for value in values):
            targets, values = [Display("tuple", tuple(targets))], [Display("tuple", tuple(values))]
        stores = [Assign((target,), value, block.line) for target, value in zip(targets, values, strict=True)]
        # what lies below an iterator is stored first: the loop takes its iterable from the statement before it
        at = len(block.stmts) - sum(1 for _ in takewhile(_starts_loop, reversed(block.stmts)))
        block.stmts[at:at] = stores


def _holds_value(block: Lifted) -> bool:
    """Whether a block leaves a value on the stack: what follows belongs to the same statement."""
    return bool(block.stack) and not isinstance(block.stack[-1], Marker)


def _starts_loop(stmt: Stmt) -> bool:
    return isinstance(stmt, ExprStmt) and isinstance(stmt.value, IteratorStart)
