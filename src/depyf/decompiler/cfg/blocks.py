"""Basic blocks, each in one container: what the passes over the control-flow graph share.

``leaders`` cuts the code into blocks; ``merged_copies`` and ``returns`` undo what the compiler copied; ``graph``
drives.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from depyf.decompiler.bytecode import ops
from depyf.decompiler.bytecode.codeunit import CO_OPTIMIZED
from depyf.decompiler.cfg.containers import Containers
from depyf.decompiler.cfg.graph_algorithms import reverse_postorder
from depyf.decompiler.cfg.program import NONE, Program


@dataclass(slots=True)
class Node:
    """A basic block: instruction indices, the container, and successors (fall-through first)."""

    id: int
    code: list[int]
    container: int
    succs: list[int] = field(default_factory=list)
    end: int = 0


class Blocks:
    """Nodes by id (the index of their first instruction).

    ``merging``: copies made by the optimiser are merged; without ``tails`` only copies of whole blocks (see
    ``copied_tails``).
    """

    def __init__(self, program: Program, containers: Containers, *, merge: bool, tails: bool) -> None:
        self.program = program
        self.containers = containers
        self.merging = merge
        self.tails = tails
        self.optimised = bool(program.unit.flags & CO_OPTIMIZED)
        """Of a function; the body of a module or a class cannot say ``return``."""
        self.nodes: dict[int, Node] = {}
        self.barriers: set[int] = set()
        """Blocks jumped to over a handler, a loop's end, or by ``break``: what comes before is a separate statement.

        A ``return`` that the compiler carried to the jump is one, too.
        """
        self.implicit: set[int] = set()
        """Where falling off the end of the function is."""
        self.broken_to: set[int] = set()
        """Those of them that a ``break`` leads to."""
        self.entry = 0

    def roots(self) -> list[int]:
        """The entry and all handler entries."""
        entries = self.containers.handler_entries
        return [self.entry, *(entries[region] for region in sorted(entries) if entries[region] != NONE)]

    def predecessors(self) -> dict[int, list[int]]:
        preds: dict[int, list[int]] = {node: [] for node in self.nodes}
        for node in self.nodes.values():
            for after in node.succs:
                preds[after].append(node.id)
        return preds

    def order(self) -> list[int]:
        """Reverse postorder over ordinary edges, an exception edge from each ``try`` entry included."""
        edges: dict[int, list[int]] = {node.id: list(node.succs) for node in self.nodes.values()}
        entries = self.containers.handler_entries
        tree = self.containers.tree
        if len(tree) == 1:
            return reverse_postorder(self.entry, edges)
        for node in self.nodes.values():
            container = tree[node.container]
            while container.kind != "root":
                if container.kind == "try":
                    target = entries.get(container.region, NONE)
                    if target != NONE and target != node.id:
                        edges[node.id].append(target)
                container = tree[container.parent]
        return reverse_postorder(self.entry, edges)

    def rename(self, renamed: dict[int, int], before: Iterable[int]) -> None:
        """Replace blocks by equivalent ones; ``before``: what goes on with them."""
        for dead in renamed:
            del self.nodes[dead]
        for name in before:
            node = self.nodes.get(name)
            if node is not None:
                node.succs = [renamed.get(after, after) for after in node.succs]
        entries, table = self.containers.handler_entries, self.containers.regions.table
        for region, target in entries.items():
            if target in renamed:
                entries[region] = renamed[target]
                if table[region].kind == "with":
                    table[region].resume = renamed[target]

    # What a block is.

    def returns_constant(self, node: Node) -> bool:
        code, instrs = node.code, self.program.instrs
        return len(code) == 2 and instrs[code[0]].op == ops.LOAD_CONST and instrs[code[1]].op == ops.RETURN

    def returns_none(self, node: Node) -> bool:
        """Whether a block is (the end of) the implicit return of a module or class body."""
        return self.returns_constant(node) and self.program.instrs[node.code[0]].arg is None
