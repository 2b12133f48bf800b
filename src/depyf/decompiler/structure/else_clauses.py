"""Finds the ``else`` clauses of ``try`` statements: code laid out between the body and the handlers."""

from __future__ import annotations

from depyf.decompiler.cfg.program import NONE
from depyf.decompiler.structure.edges import Edges, Item, predecessors
from depyf.decompiler.structure.label_kinds import is_try, number_of
from depyf.decompiler.structure.layout.loop_membership import LoopMembership
from depyf.safety.depth import any_depth


class ElseClauses:
    """``parts``: the items of each ``else``, and which of them is entered, by the container of the ``try``."""

    def __init__(self, edges: Edges, membership: LoopMembership) -> None:
        self.parts: dict[int, tuple[dict[int, Item], int]] = {}
        self._edges = edges
        self._membership = membership

    @any_depth
    def take(self, items: dict[int, Item], entry: int) -> None:
        """Take what belongs to an ``else`` out of ``items``, edited."""
        preds = predecessors(items)
        for key in sorted(items):
            if key not in items or not is_try(key) or number_of(key) in self.parts:
                continue
            container, item = number_of(key), items[key]
            start = self._handler_start(container)
            heads = [
                s for s in item.succs if s in items and s != entry and preds[s] == {key} and items[s].start < start
            ]
            if start == NONE or len(heads) != 1 or items[heads[0]].start < item.start:
                continue
            if self._membership.ends_function(heads[0]):
                continue
            if any(label in items and label != heads[0] for label in self._edges.body_exits(container)):
                continue
            chosen = set(heads)
            work = list(heads)
            while work:
                for other in items[work.pop()].succs:
                    if other in chosen or other == entry or other not in items:
                        continue
                    if item.start < items[other].start < start and preds[other] <= chosen:
                        chosen.add(other)
                        work.append(other)
            handler = self._edges.handler_container(container)
            leaving = () if handler == NONE else self._edges.leaving(handler)
            if any(self._edges.label(source, after) in chosen for source, after in leaving):
                continue
            part = {k: items.pop(k) for k in sorted(chosen)}
            self.take(part, heads[0])
            self.parts[container] = (part, heads[0])
            exits = [s for other in part.values() for s in other.succs if s not in chosen]
            item.succs = list(dict.fromkeys([s for s in item.succs if s not in chosen] + exits))
            item.last = max(item.last, max(other.last for other in part.values()))

    def _handler_start(self, container: int) -> int:
        containers = self._edges.containers
        region = containers.regions.table[containers.tree[container].region]
        return region.target if region.kind == "except" else NONE
