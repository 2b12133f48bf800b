"""The lifted blocks of one function while they are folded into each other: what every fold reads and edits."""

from __future__ import annotations

from dataclasses import dataclass, field

from depyf.decompiler.cfg.assertions import Assertions
from depyf.decompiler.cfg.graph import Graph
from depyf.decompiler.ir.expr import Comp
from depyf.decompiler.ir.markers import Accumulator
from depyf.decompiler.lift.engine import Style
from depyf.decompiler.lift.lifted_block import Lifted
from depyf.decompiler.lift.negation import Groups

OUTSIDE = -1
"""The number of the predecessor on an exception edge, and of that of the first block."""


@dataclass(slots=True)
class LiftedGraph:
    """``blocks`` and ``preds`` describe what is lifted so far, less what was folded; ``preds`` has the edges of
    ``graph`` elsewhere.

    ``order`` is the position of each block in the order of lifting.  ``merged`` names the block that holds the code of
    one that was absorbed; ``dead`` are those whose code is nowhere, or stands more than once.  ``groups`` are the
    parentheses that the source has around tests (``negation``).
    """

    graph: Graph
    style: Style
    asserts: Assertions
    preds: dict[int, list[int]]
    order: dict[int, int]
    ready: dict[int, Comp]
    """Comprehensions to put in the place of loops, by the test of the outermost loop of each (plain lifting)."""
    blocks: dict[int, Lifted] = field(default_factory=dict)
    merged: dict[int, int] = field(default_factory=dict)
    dead: set[int] = field(default_factory=set)
    comprehensions: dict[int, Comp] = field(default_factory=dict)
    """What was folded, by the test of its outermost loop."""
    groups: Groups = field(default_factory=dict)
    named_slots: bool = False
    """Whether a value has the temporary of its position on the stack."""

    @property
    def name(self) -> str:
        """The name of the function, which tells a lambda and a comprehension."""
        return self.graph.program.unit.name

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

    def holder(self, name: int) -> Lifted | None:
        """The block that holds the code of another one, or that one itself; None where it is not lifted."""
        return self.blocks.get(self.merged.get(name, name))

    def only_pred(self, name: int) -> Lifted | None:
        """The one predecessor of a block, if it has exactly one edge into it and that one is lifted."""
        preds = self.preds[name]
        if len(preds) != 1 or preds[0] == OUTSIDE:
            return None
        return self.blocks.get(preds[0])

    def is_loop_head(self, name: int) -> bool:
        """Whether an edge leads back to a block."""
        return any(p != OUTSIDE and self.order[p] >= self.order[name] for p in self.preds[name])

    def in_expression(self, block: Lifted) -> bool:
        """Whether a block is part of a lambda or comprehension, where no statement can be."""
        return (
            self.name.startswith("<")
            and self.name != "<module>"
            or any(isinstance(value, Accumulator) for value in block.entry)
        )
