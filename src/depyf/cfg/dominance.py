"""Dominators of acyclic graphs, in topological order, each the nearest common ancestor of its predecessors.

The order is that of Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm" (2001); common ancestors are found
in logarithmic time by the jump pointers of Myers, "An Applicative Random-Access Stack" (1983): a block at the end of a
chain of tests has a predecessor at every depth.
"""

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
    """Immediate dominator of every node in ``order`` (a reverse postorder, entry first); the entry's is itself.

    An edge back in that order raises ValueError: the graph has a cycle.
    """
    number = {node: i for i, node in enumerate(order)}
    entry = order[0]
    idom: dict[int, int] = {}
    depth: dict[int, int] = {entry: 0}
    jump: dict[int, int] = {entry: entry}

    def common(left: int, right: int) -> int:
        if depth[left] < depth[right]:
            left, right = right, left
        level = depth[right]
        while depth[left] > level:
            left = jump[left] if depth[jump[left]] >= level else idom[left]
        while left != right:
            if jump[left] != jump[right]:
                left, right = jump[left], jump[right]
            else:
                left, right = idom[left], idom[right]
        return left

    idom[entry] = entry
    for node in order:
        if node != entry:
            above = idom[node]
            far = jump[above]
            depth[node] = depth[above] + 1
            jump[node] = jump[far] if depth[above] - depth[far] == depth[far] - depth[jump[far]] else above
        for following in successors.get(node, ()):
            place = number.get(following)
            if place is None:
                continue
            if place <= number[node]:
                raise ValueError("dominators of a graph with a cycle")
            known = idom.get(following)
            idom[following] = node if known is None else common(known, node)
    return idom
