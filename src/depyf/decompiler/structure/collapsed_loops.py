"""Makes one item of each loop of a container's graph: what is left is acyclic.

A loop inside of another one is a part of its items, and is collapsed when that one is translated.
"""

from __future__ import annotations

from depyf.decompiler.cfg.graph_algorithms import components, reverse_postorder
from depyf.decompiler.cfg.program import NONE
from depyf.decompiler.lift.lifted_block import Lifted
from depyf.decompiler.structure.dispatches import Dispatches
from depyf.decompiler.structure.edges import Item, LoopItems, is_for, loop_heads, predecessors
from depyf.decompiler.structure.layout.loop_membership import LoopMembership
from depyf.safety.depth import spend


class CollapsedLoops:
    """The items of each collapsed loop, by its header, until it is translated."""

    def __init__(self, blocks: dict[int, Lifted], membership: LoopMembership, dispatches: Dispatches) -> None:
        self._blocks = blocks
        self._membership = membership
        self._dispatches = dispatches
        self._loops: dict[int, dict[int, Item]] = {}

    def collapse(self, items: dict[int, Item], entry: int) -> int:
        """Collapse the loops of ``items``, edited; the entry, which is a dispatch where that of a loop with several
        heads was."""
        while True:
            spend(4 * len(items) + sum(len(item.succs) for item in items.values()))
            succs = {key: item.succs for key, item in items.items()}
            preds = predecessors(items)
            found = components(items, succs)
            heads = [loop_heads(scc, preds, entry) for scc in found]
            if all(len(head) == 1 for head in heads):
                break
            for head in heads:
                if len(head) > 1:
                    entry = self._dispatches.enter_loop(items, head, preds, entry)
        header = {key: head[0] for head, scc in zip(heads, found, strict=True) for key in scc}
        for key in sorted(items):
            if key not in header and is_for(self._blocks, key) and not items[key].compound:
                # the body of this ``for`` is never repeated
                body = next(iter(items[key].succs), NONE)  # both ways may leave to labels outside
                found.append([key, body] if preds.get(body, set()) <= {key} and body in items else [key])
        reachable = set(reverse_postorder(entry, succs)) if found else set()
        # inner and later loops first, so that a loop can be kept inside an earlier one as a whole
        for scc in found:
            if any(key not in items for key in scc):
                continue  # part of a loop that was collapsed before: its turn comes when that one is built
            loop = LoopItems(set(scc), header.get(scc[0], scc[0]))
            self._membership.extend_loop(loop, items, preds, reachable, entry)
            self._make_item(loop, items, preds)
        return entry

    def take(self, header: int) -> dict[int, Item]:
        """The items of a loop, without the edges back to its header: it is the caller's now."""
        items = self._loops.pop(header)
        for item in items.values():
            if header in item.succs:
                item.succs = [label for label in item.succs if label != header]
        if is_for(self._blocks, header):
            items[header].compound = True
        return items

    def _make_item(self, loop: LoopItems, items: dict[int, Item], preds: dict[int, set[int]]) -> None:
        """Make one item of a loop; its label stays that of its header."""
        body = {key: items.pop(key) for key in sorted(loop.body) if key in items}
        for key, item in body.items():
            for label in item.succs:
                preds[label].discard(key)
        self._loops[loop.header] = body
        ordered = sorted(body, key=lambda key: (body[key].start, key))
        exits = list(dict.fromkeys(label for key in ordered for label in body[key].succs if label not in body))
        bounds = [item.lines for item in body.values() if item.lines is not None]
        lines = (min(b[0] for b in bounds), max(b[1] for b in bounds)) if bounds else None
        head = body[loop.header]
        last = max(item.last for item in body.values())
        items[loop.header] = Item(exits, lines, head.first_line, head.start, last, True, True)
        for label in exits:
            preds[label].add(loop.header)
