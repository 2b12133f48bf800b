"""The graph of basic blocks over a rewritten ``Program``, with the compiler's copies undone.

Input: ``Program`` and ``Containers``.  Output: ``Graph`` of ``Node``: every node lies in one container, has explicit
successors, and holds instruction indices.
"""

from __future__ import annotations

from depyf.decompiler.bytecode import ops
from depyf.decompiler.cfg.blocks import Blocks, Node
from depyf.decompiler.cfg.containers import Containers
from depyf.decompiler.cfg.leaders import Leaders
from depyf.decompiler.cfg.program import NONE, Program
from depyf.decompiler.cfg.undo.merged_copies import Copies
from depyf.decompiler.cfg.undo.returns import absorb_returns, merge_implicit_returns

__all__ = ["Graph", "Node"]


class Graph(Blocks):
    """The finished blocks; ``preds`` counts each edge."""

    def __init__(self, program: Program, containers: Containers, *, merge: bool = True, tails: bool = True) -> None:
        super().__init__(program, containers, merge=merge, tails=tails)
        merges = merge or not self.optimised
        if program.is_one_path:
            self._cut_path()
            if merges:
                merge_implicit_returns(self)
            self.preds = self.predecessors()
            return
        leaders = Leaders(self)
        leaders.cut()
        skip_empty_blocks(self)
        copies = Copies(self, leaders.spans)
        if merges:
            merge_implicit_returns(self)  # a module or class body cannot say ``return``
        if merge:
            copies.merge(only_constants=True)
        absorb_returns(self)
        if merges:
            copies.merge()
            absorb_returns(self)
        self.preds = self.predecessors()

    def _cut_path(self) -> None:
        """The blocks of code without jumps and handlers: what it returns, with the constant if it is one, and all
        before that."""
        instrs, of = self.program.instrs, self.containers.of
        last = len(instrs) - 1
        end = last if instrs[last].op == ops.RETURN else 0
        if end and instrs[end - 1].op == ops.LOAD_CONST:
            end -= 1
        if end:
            self.nodes[0] = Node(0, list(range(end)), of[0], [end], end - 1)
        self.nodes[end] = Node(end, list(range(end, last + 1)), of[end], [], last)


def skip_empty_blocks(blocks: Blocks) -> None:
    """Skip empty nodes where that does not change which ``try`` is entered."""
    protected = set(blocks.roots())
    final: dict[tuple[int, int], int] = {}
    skips = any(not node.code for node in blocks.nodes.values())
    for node in blocks.nodes.values() if skips else ():
        for k, target in enumerate(node.succs):
            key = (node.container, target)
            if key not in final:
                final[key] = _past(blocks, node.container, target)
            if final[key] != target and final[key] <= node.id:
                # the jump back is part of the loop, wherever it stands
                node.end = max(node.end, target)
            node.succs[k] = final[key]
    reachable: set[int] = set()
    work = [root for root in protected if root in blocks.nodes]
    while work:
        current = work.pop()
        if current in reachable:
            continue
        reachable.add(current)
        work.extend(blocks.nodes[current].succs)
    blocks.nodes = {i: node for i, node in blocks.nodes.items() if i in reachable}


def _past(blocks: Blocks, source: int, target: int) -> int:
    """What a jump from container ``source`` to ``target`` reaches first that is not empty."""
    seen = set()
    while target not in seen:
        seen.add(target)
        node = blocks.nodes[target]
        if node.code or len(node.succs) != 1 or node.succs[0] == target:
            break
        after = node.succs[0]
        if node.container != source and _resolve(blocks, source, after) != _resolve(blocks, node.container, after):
            break
        if node.container != source and blocks.containers.outermost_without(node.container, source) != NONE:
            break
        target = after
    return target


def _resolve(blocks: Blocks, source: int, target: int) -> tuple[int, int]:
    containers = blocks.containers
    return containers.outermost_without(blocks.nodes[target].container, source), target
