"""The acyclic graph of one container as a tree of code: what stands after which item, along the dominator tree.

Ramsey, "Beyond Relooper" (ICFP 2022): a node with several predecessors becomes the code after a labelled block around
its dominator. Loops and nested containers are single items here.
"""

from __future__ import annotations

from depyf.decompiler.cfg.graph_algorithms import immediate_dominators, reverse_postorder
from depyf.decompiler.cfg.program import NONE
from depyf.decompiler.lift.lifted_block import Lifted
from depyf.decompiler.structure.edges import Item, is_for

SMALL_TAIL = 2
_FAR = 100


class Acyclic:
    """``items``, of which ``entry`` is entered first; made for one container and dropped with it.

    ``followers`` are the items that stand after an item, in a block around it; ``tails`` are copied to each place that
    goes there.  ``plain``: what comes after a shared block in any case stands after it.  ``copies_tails``: a few
    statements that end the function are copied.
    """

    def __init__(
        self, blocks: dict[int, Lifted], items: dict[int, Item], entry: int, *, plain: bool, copies_tails: bool
    ) -> None:
        self.items, self.entry = items, entry
        self._blocks = blocks
        succs = {key: [label for label in item.succs if label in items] for key, item in items.items()}
        for key, item in items.items():
            if item.loop:
                succs[key] = [label for label in succs[key] if label != key]
        order = reverse_postorder(entry, succs)
        number = {key: i for i, key in enumerate(order)}
        idom = immediate_dominators(order, succs)
        incoming: dict[int, int] = {}
        for key in order:
            for label in succs[key]:
                incoming[label] = incoming.get(label, 0) + 1
        # a copy of a few statements that end the function nests nothing; a shared one would hold the rest in a block
        tails: set[int] = set()
        if copies_tails:
            inner = {label for item in items.values() if item.compound for label in item.succs}
            tails = {key for key in order[1:] if incoming[key] > 1 and key not in inner and self._is_tail(key)}
        followers: dict[int, list[int]] = {}
        following: set[int] = set()
        last = {idom[key]: number[key] for key in order[1:] if incoming[key] > 1}
        for key in order[1:]:
            parent = idom[key]
            if key in tails:
                continue
            if incoming[key] > 1 or items[parent].loop or (items[parent].compound and not is_for(blocks, parent)):
                followers.setdefault(parent, []).append(key)
                following.add(key)
            elif plain:
                # what comes after a shared block in any case need not stand in an arm before it
                above, found, steps = parent, NONE, 0
                while steps < _FAR and not is_for(blocks, above):
                    if above in followers:
                        found = above
                    if above in following or above == entry or last.get(above, 0) > number[key]:
                        break  # what the code may go on to stands after that block
                    above, steps = idom[above], steps + 1
                if found != NONE:
                    followers[found].append(key)
                    following.add(key)
        self.tails = tails
        self._number, self._idom = number, idom
        self._followers, self._following = followers, following

    def after(self, key: int) -> list[int]:
        """The items that stand after an item, in their order."""
        return sorted(self._followers.get(key, ()), key=self._number.__getitem__)

    def is_here(self, label: int, source: int) -> bool:
        """Whether the code of ``label`` stands where ``source`` goes to it."""
        return (
            label != self.entry
            and label in self.items
            and label not in self._following
            and label in self._number
            and self._idom[label] == source
        )

    def _is_tail(self, key: int) -> bool:
        block = self._blocks.get(key)
        return block is not None and not self.items[key].loop and not block.succs and len(block.stmts) <= SMALL_TAIL
