"""The graph of basic blocks over a rewritten ``Program``, with the compiler's copies undone.

Input: ``Program`` and ``Containers``.  Output: ``Graph`` of ``Node``: every node lies in one container, has explicit
successors, and holds instruction indices.
"""

from __future__ import annotations

from depyf.cfg.blocks import Blocks, Node
from depyf.cfg.containers import Containers
from depyf.cfg.empty_blocks import skip_empty_blocks
from depyf.cfg.leaders import Leaders
from depyf.cfg.program import Program
from depyf.cfg.undo.merged_copies import Copies
from depyf.cfg.undo.returns import absorb_returns, merge_implicit_returns

__all__ = ["Graph", "Node"]


class Graph(Blocks):
    """The finished blocks; ``preds`` counts each edge."""

    def __init__(self, program: Program, containers: Containers, *, merge: bool = True, tails: bool = True) -> None:
        super().__init__(program, containers, merge=merge, tails=tails)
        leaders = Leaders(self)
        leaders.cut()
        skip_empty_blocks(self)
        copies = Copies(self, leaders.spans)
        merges = merge or not self.optimised
        if merges:
            merge_implicit_returns(self)  # a module or class body cannot say ``return``
        if merge:
            copies.merge(only_constants=True)
        absorb_returns(self)
        if merges:
            copies.merge()
            absorb_returns(self)
        self.preds = self.predecessors()
