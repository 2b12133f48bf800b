"""What each block finds on the stack: markers as they are, any other value as the temporary of its position or as it
is.

A value stays what it is where every edge is taken to bring the same one: a local that nothing stores to, the right
operand of a chained comparison.  That is a guess about edges that are lifted later; the lifter asks ``check`` when all
are, and lifts again where a guess was wrong.
"""

from __future__ import annotations

from functools import cached_property

from depyf.decompiler.bytecode import ops
from depyf.decompiler.cfg.graph import Node
from depyf.decompiler.ir.expr import Cmp, Expr, Name, Temp
from depyf.decompiler.ir.markers import ForTest, LoopItem, ManagerExit, Marker, NullSlot
from depyf.decompiler.lift import fresh_containers
from depyf.decompiler.lift.lifted_block import Lifted
from depyf.decompiler.lift.lifted_graph import OUTSIDE, LiftedGraph
from depyf.decompiler.lift.stack_values import LinkedLeft, Shared, is_slot
from depyf.decompiler.lift.symbolic import Symbolic
from depyf.decompiler.lift.values_over_loops import stored_above
from depyf.errors import DecompilationError

_STORES = frozenset({ops.STORE_FAST, ops.DELETE_FAST, ops.LOAD_FAST_CLEAR})


class EntryStacks:
    """The stacks on entry of the blocks of one function, over all rounds of lifting."""

    def __init__(self, engine: Symbolic) -> None:
        self.engine = engine
        self.lifted: LiftedGraph
        self._unlinked: set[int] = set()
        """Blocks whose kept operand turned out to be no link of a chained comparison."""
        self._uncarried: set[int] = set()
        """Blocks that other edges, lifted later, turned out to enter with other values."""
        self._linked_from: dict[int, int] = {}
        self._protected: dict[int, int] = {}
        """The first block of each region, which tells what its handler finds."""
        self._handling: dict[int, int] = {}
        """The region of each block that exceptions enter."""

    @property
    def wrong_guesses(self) -> tuple[int, int]:
        """How many guesses have failed so far."""
        return len(self._unlinked), len(self._uncarried)

    def begin(self, lifted: LiftedGraph, handling: dict[int, int]) -> None:
        """A round of lifting begins."""
        self.lifted = lifted
        self._linked_from = {}
        self._protected = {}
        self._handling = handling

    def note_protected(self, block: Lifted) -> None:
        """Remember the first block of every region: its entry tells what the handler finds on the stack."""
        tree = self.lifted.graph.containers.tree
        container = tree[block.container]
        while container.kind != "root":
            if container.kind == "try":
                if container.region in self._protected:
                    return
                self._protected[container.region] = block.id
            container = tree[container.parent]

    def check(self, block: Lifted) -> None:
        """Note which guesses about the stack of ``block`` were wrong, now that all edges are known."""
        if any(isinstance(value, LinkedLeft) for value in block.entry):
            self._unlinked.add(self._linked_from[block.id])
        if not self._enters_alike(block):
            self._uncarried.add(block.id)

    def of(self, node: Node) -> list[Expr]:
        """The stack on entry of ``node``."""
        lifted = self.lifted
        known = [lifted.blocks[p] for p in lifted.preds[node.id] if p in lifted.blocks]
        if not known:
            if node.id == lifted.graph.entry:
                return []
            if node.id in self._handling:
                return self._handler_entry(self._handling[node.id])
            raise DecompilationError("block without predecessor", lifted.graph.program.unit.qualname)
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
        elif isinstance(before.cond, Cmp) and lifted.style.fold:
            linked = self._chain_link(before, node.id)
            if linked is not None:
                return linked
        if self._is_generated(node) and len(known) == 1 and node.id not in self._uncarried:
            kept = frozenset[str]() if len(lifted.preds[node.id]) == 1 else stored_above(lifted.graph, node)
            if kept is not None:
                return self._kept(stack, kept)
        single = (len(known) == 1 or lifted.style.peeled) and node.id not in self._uncarried
        entry = [self._carried(value, i, single) for i, value in enumerate(stack)]
        return self.engine.entered(node, entry)

    def _is_generated(self, node: Node) -> bool:
        written = self.engine.written
        return self.lifted.style.generated and (written is None or bool(node.code) and node.code[0] in written)

    def _enters_alike(self, block: Lifted) -> bool:
        """Whether every edge leads to ``block`` with the variables that it takes to be on the stack."""
        carried = [(i, value) for i, value in enumerate(block.entry) if isinstance(value, Name)]
        before = (self.lifted.holder(p) for p in self.lifted.preds[block.id]) if carried else ()
        return all(
            isinstance(left := known.stack[i], Name) and left.id == value.id
            for known in before
            if known is not None
            for i, value in carried
            if i < len(known.stack)
        )

    def _kept(self, stack: list[Expr], stored: frozenset[str]) -> list[Expr]:
        """The stack on entry of a block where it is what the block before left, but for the locals that are
        ``stored``."""
        made: dict[int, fresh_containers.Fresh] = {}
        return [
            fresh_containers.copy_fresh(value, made)
            if self.engine.atomic(value) and not is_slot(value) and not fresh_containers.names(value) & stored
            else Temp(i)
            for i, value in enumerate(stack)
        ]

    def _carried(self, value: Expr, position: int, single: bool) -> Expr:
        if isinstance(value, Marker):
            return value
        if self.engine.guesses_nothing:
            return Temp(position)
        if isinstance(value, Name) and value.scope == "fast" and value.id not in self._stored:
            if single or value.id.startswith("."):
                return value
        return Temp(position)

    @cached_property
    def _stored(self) -> set[object]:
        """The locals that the function stores to; not those that a resume function unpacks at its beginning alone."""
        instrs = self.engine.program.instrs
        peeled = self.engine.style.peeled
        head = next((at for at, instr in enumerate(instrs) if instr.op == ops.JUMP), 0) if peeled else 0
        stores = [instr.arg for instr in instrs if instr.op in _STORES]
        first = {instr.arg for instr in instrs[:head] if instr.op in _STORES}
        return {name for name in stores if name not in first or stores.count(name) > 1}

    def _chain_link(self, before: Lifted, name: int) -> list[Expr] | None:
        """Entry stack of the block that compares on with the right operand of ``before.cond``."""
        test = before.cond
        assert isinstance(test, Cmp)
        stack = before.stack
        at = len(stack) - (2 if before.keep is not None else 1)
        alone = before.succs[0] == name and len(self.lifted.preds[name]) == 1
        if before.id in self._unlinked or at < 0 or not alone:
            return None
        shared = stack[at]
        if not isinstance(shared, Shared) and not (shared is test.rights[-1] and self._drops_at(before.succs[1])):
            return None
        inner = shared.expr if isinstance(shared, Shared) else shared
        if inner is not test.rights[-1]:
            return None
        entry: list[Expr] = [self._carried(value, i, False) for i, value in enumerate(stack)]
        entry[at] = LinkedLeft(test)
        self._linked_from[name] = before.id
        return entry

    def _drops_at(self, name: int) -> bool:
        """Whether a block begins by dropping the kept operand of a failed chained comparison."""
        graph = self.lifted.graph
        code = graph.nodes[name].code
        return bool(code) and graph.program.instrs[code[0]].op in (ops.POP, ops.SWAP, ops.ROT)

    def _handler_entry(self, region: int) -> list[Expr]:
        lifted = self.lifted
        unit, record = lifted.graph.program.unit, lifted.graph.containers.regions.table[region]
        block = lifted.holder(self._protected.get(region, OUTSIDE))
        if block is None:
            raise DecompilationError("handler of no block", unit.qualname)
        found = self.engine.handler_entry(region, block.entry, record.depth)
        base = [self._carried(value, i, lifted.style.peeled) for i, value in enumerate(found)]
        base = self.engine.caught_base(region, base)
        if len(base) < record.depth:
            raise DecompilationError("handler expects a deeper stack", unit.qualname)
        if record.kind == "with":
            while base and not isinstance(base[-1], ManagerExit):
                base.pop()
            return base[:-1]
        return base + [self.engine.pushed(region, name) for name in record.pushes]
