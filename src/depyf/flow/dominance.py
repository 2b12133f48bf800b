"""Dominators, by Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm" (2001)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def reverse_postorder(entry: int, successors: Mapping[int, Sequence[int]]) -> list[int]:
    """Nodes reachable from ``entry``, each before its successors except along back edges.

    The first successor of a node is visited last, so it comes first in the order.
    """
    seen = {entry}
    order: list[int] = []
    stack: list[tuple[int, list[int]]] = [(entry, list(successors.get(entry, ())))]
    while stack:
        node, pending = stack[-1]
        while pending:
            following = pending.pop()
            if following not in seen:
                seen.add(following)
                stack.append((following, list(successors.get(following, ()))))
                break
        else:
            stack.pop()
            order.append(node)
    order.reverse()
    return order


def immediate_dominators(order: Sequence[int], successors: Mapping[int, Sequence[int]]) -> dict[int, int]:
    """Immediate dominator of every node in ``order`` (a reverse postorder, entry first); the entry's is itself."""
    number = {node: i for i, node in enumerate(order)}
    predecessors: dict[int, list[int]] = {node: [] for node in order}
    for node in order:
        for following in successors.get(node, ()):
            if following in number:
                predecessors[following].append(node)
    entry = order[0]
    idom: dict[int, int] = {entry: entry}
    changed = True
    while changed:
        changed = False
        for node in order[1:]:
            best = -1
            for before in predecessors[node]:
                if before not in idom:
                    continue
                if best == -1:
                    best = before
                    continue
                left, right = before, best
                while left != right:
                    while number[left] > number[right]:
                        left = idom[left]
                    while number[right] > number[left]:
                        right = idom[right]
                best = left
            if idom.get(node) != best:
                idom[node] = best
                changed = True
    return idom
