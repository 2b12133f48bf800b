"""Lifts basic blocks, and folds conditions, conditional expressions and comprehensions on the way.

Input: ``Graph``.  Output: a ``LiftedGraph`` whose blocks leave only markers on the stack: what the stack carried
between blocks became part of an expression where a fold applies, and a temporary per stack position elsewhere.

Blocks are lifted in reverse postorder; before a block is lifted every fold that ends there is tried, so that it can
continue the expression its only predecessor left on the stack:

    A: if a goto T else F;  T: push x, goto J;  F: push y, goto J      ->   A: push (x if a else y), then J
"""

from __future__ import annotations

import contextlib

from depyf.decompiler.bytecode import ops
from depyf.decompiler.cfg.assertions import Assertions
from depyf.decompiler.cfg.graph import Graph, Node
from depyf.decompiler.cfg.program import ASYNC_FOR_ITER, WITH_EXIT
from depyf.decompiler.ir.expr import Comp, DictOf, Display, Expr
from depyf.decompiler.ir.markers import Accumulator, LoopIterator, Marker, NullSlot
from depyf.decompiler.lift import fresh_containers
from depyf.decompiler.lift.engine import Style
from depyf.decompiler.lift.entry_stacks import EntryStacks
from depyf.decompiler.lift.folds.comprehensions import fold_comprehension
from depyf.decompiler.lift.folds.conditions import fold_chain_end, fold_test, fold_value
from depyf.decompiler.lift.folds.ignored_tests import ignore_test, put_test
from depyf.decompiler.lift.folds.inlined_comprehensions import LOOPS, before_loop, put_comprehension, skip_loop
from depyf.decompiler.lift.left_values import store_left_values
from depyf.decompiler.lift.lifted_block import Lifted
from depyf.decompiler.lift.lifted_graph import OUTSIDE, LiftedGraph
from depyf.decompiler.lift.rules.calls import COMPREHENSIONS
from depyf.decompiler.lift.stack_values import IterOf
from depyf.decompiler.lift.symbolic import Symbolic
from depyf.errors import DecompilationError
from depyf.safety.rewrites import step

_RETURNING = frozenset({ops.RETURN, ops.POP, ops.POP_EXCEPT, ops.SWAP, ops.ROT, WITH_EXIT})
_ITERATES = frozenset({ops.GET_ITER, ops.GET_AITER})
_ROUNDS = 50


class Lifter:
    """Lifts one graph, again and again as long as guesses of the engine, or about stacks, turn out to be wrong."""

    def __init__(self, graph: Graph, engine: Symbolic) -> None:
        self.graph = graph
        self.engine = engine
        self.engine.implicit = graph.implicit
        self.asserts = Assertions(graph.program)
        self.stacks = EntryStacks(engine)
        self.lifted: LiftedGraph

    def run(self) -> LiftedGraph:
        """Lift everything."""
        ready = self._comprehensions() if self.engine.guesses_nothing else {}
        for _ in range(_ROUNDS):
            before = self.engine.guesses(), self.stacks.wrong_guesses
            self._lift_all(ready)
            if (self.engine.guesses(), self.stacks.wrong_guesses) == before:
                return self.lifted
        raise DecompilationError("values shared on the stack reach no fixpoint", self.graph.program.unit.qualname)

    def _comprehensions(self) -> dict[int, Comp]:
        """What ordinary lifting finds of comprehensions: there are no statements for an inlined one."""
        program = self.graph.program
        if any(instr.op in LOOPS for instr in program.instrs):
            with contextlib.suppress(DecompilationError):
                return Lifter(self.graph, Symbolic(program, self.engine.nested, Style())).run().comprehensions
        return {}

    def _lift_all(self, ready: dict[int, Comp]) -> None:
        graph = self.graph
        self.engine.begin()
        preds = {node: list(before) for node, before in graph.preds.items()}
        handling: dict[int, int] = {}
        for region, target in graph.containers.handler_entries.items():
            handling.setdefault(target, region)
        for target in sorted(handling):
            if target in graph.nodes:
                preds[target].append(OUTSIDE)
        preds[graph.entry].append(OUTSIDE)
        order = graph.order()
        positions = {name: index for index, name in enumerate(order)}
        lifted = self.lifted = LiftedGraph(graph, self.engine.style, self.asserts, preds, positions, ready)
        self.stacks.begin(lifted, handling)
        for name in order:
            if lifted.style.fold:
                self._folds_before(name)
            if name not in lifted.dead:
                self._lift(graph.nodes[name])
        for block in lifted.blocks.values():
            if block.entry:
                self.stacks.check(block)
            store_left_values(lifted, self.engine, block)

    def _folds_before(self, name: int) -> None:
        lifted, changed = self.lifted, True
        while changed:
            joins = len(lifted.preds[name]) > 1  # where the ways of an expression meet
            changed = joins and (fold_value(lifted, name) or fold_chain_end(lifted, name))
            changed = changed or fold_comprehension(lifted, name)
            if changed:
                step("fold the arms of an expression", name)

    def _lift(self, node: Node) -> None:
        lifted = self.lifted
        before = lifted.only_pred(node.id) if lifted.style.fold else None
        if before is not None and self._goes_on(before, node):
            self._continue(before, node)
        elif lifted.style.fold and self._split_return(node):
            return
        else:
            self._begin(node)
        block = lifted.holder(node.id)
        assert block is not None
        if lifted.style.fold:
            while (parent := lifted.only_pred(block.id)) is not None and fold_test(lifted, parent, block):
                step("fold a test into the one before it", parent.id)
                block = parent
            ignore_test(lifted, block)

    def _goes_on(self, before: Lifted, node: Node) -> bool:
        """Whether ``node`` is the rest of the block ``before``, its only predecessor."""
        return (
            before.cond is None
            and before.container == node.container
            and before.succs == [node.id]
            and before.id != node.id
            and not self._is_loop_test(node.id)
            and (node.id not in self.graph.barriers or _holds_value(before))
        )

    def _continue(self, before: Lifted, node: Node) -> None:
        lifted = self.lifted
        lifted.preds[node.id].clear()
        lifted.merged[node.id] = before.id
        for after in node.succs:
            preds = lifted.preds[after]
            preds[preds.index(node.id)] = before.id
        before.succs = list(node.succs)
        self._execute(before, node.code)
        before.last = max(before.last, node.end)

    def _begin(self, node: Node) -> None:
        """Lift a block by itself."""
        lifted = self.lifted
        entry = self.stacks.of(node)
        block = Lifted(node.id, node.container, len(entry), [], list(entry), list(entry), [], list(node.succs))
        block.low = len(entry)
        block.last = node.id
        lifted.blocks[node.id] = block
        self.stacks.note_protected(block)
        start = before_loop(lifted, node) if node.succs and node.succs[0] in lifted.ready else node.code
        if len(start) < len(node.code):
            skip_loop(lifted, block, node)
        self._execute(block, start)
        if len(start) < len(node.code):
            put_comprehension(lifted, block, node, start)
        block.last = max(block.last, node.end)

    def _split_return(self, node: Node) -> bool:
        """Undo the merging of ``return`` copies whose values did not fold into one expression."""
        lifted = self.lifted
        chain = self._returning(node)
        if not chain:
            return False
        before = [lifted.blocks.get(p) for p in lifted.preds[node.id]]
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
            lifted.preds[part.id].clear()
            lifted.dead.add(part.id)
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
            if len(part.succs) > 1 or self.lifted.preds[after.id] != [part.id] or after.container != node.container:
                return []
            chain.append(after)

    def _execute(self, block: Lifted, code: list[int]) -> None:
        block.code.extend(code)
        before_loop = self._precedes_loop(block)
        rest = code if block.tested is None else put_test(self.engine, block, code, before_loop)
        self.engine.run(block, rest, before_loop)
        if block.succs:
            if self.engine.generated:
                for i in range(len(block.stack)):
                    fresh_containers.as_fresh(self.engine, i)
            self._start_iterators(block, code)
            if before_loop:
                self._mark_result(block.stack)

    def _start_iterators(self, block: Lifted, code: list[int]) -> None:
        """Start the iterators that ``code``, the part of ``block`` executed last, has left on the stack."""
        instrs = self.graph.program.instrs
        if any(instrs[i].op in _ITERATES for i in code):  # or every short circuit would look at all of a wide stack
            for i, value in enumerate(block.stack):
                if isinstance(value, IterOf):
                    self.engine.start_iterator(block.stack, i, self.engine.instr.line or block.line)

    def _mark_result(self, stack: list[Expr]) -> None:
        """Mark the result of a comprehension: no statement keeps a value right below the iterator of its loop."""
        below = len(stack) - 2 - sum(isinstance(top, NullSlot) for top in stack[-1:])
        if below < 0:
            return
        made_here = isinstance(stack[below + 1], LoopIterator)
        if not made_here and self.graph.program.unit.name not in COMPREHENSIONS:
            return
        result = stack[below]
        if isinstance(result, fresh_containers.Fresh):
            held = sum(part is result for value in stack for part in fresh_containers.inside(value))
            result = fresh_containers.display_of(result) if held == 1 else result
        if isinstance(result, Display) and not result.elts:
            stack[below] = Accumulator(result.kind)
        elif isinstance(result, DictOf) and not result.items:
            stack[below] = Accumulator("dict")

    def _precedes_loop(self, block: Lifted) -> bool:
        """Whether the test of a loop follows a block."""
        return block.cond is None and len(block.succs) == 1 and self._is_loop_test(block.succs[0])

    def _is_loop_test(self, name: int) -> bool:
        code = self.graph.nodes[name].code
        return bool(code) and self.graph.program.instrs[code[0]].op in (ops.FOR_ITER, ASYNC_FOR_ITER)


def _holds_value(block: Lifted) -> bool:
    """Whether a block leaves a value on the stack: what follows belongs to the same statement."""
    return bool(block.stack) and not isinstance(block.stack[-1], Marker)
