"""Dominators of acyclic graphs, and the strongly connected components of any graph.

The dominator of a node is the nearest common ancestor of its predecessors, found in topological order: Cooper, Harvey
and Kennedy, "A Simple, Fast Dominance Algorithm" (2001).  Common ancestors are found in logarithmic time by the jump
pointers of Myers, "An Applicative Random-Access Stack" (1983).  Components are found by Tarjan's algorithm (1972)
without recursion: every loop is inside one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence


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


def components(nodes: Iterable[int], successors: Mapping[int, Sequence[int]]) -> list[list[int]]:
    """Strongly connected components with at least one edge inside (self loops included), in reverse topological
    order."""
    universe = set(nodes)
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    on_stack: set[int] = set()
    stack: list[int] = []
    found: list[list[int]] = []
    for root in sorted(universe):
        if root in index:
            continue
        work: list[tuple[int, int]] = [(root, 0)]
        while work:
            node, position = work.pop()
            if position == 0:
                index[node] = low[node] = len(index)
                stack.append(node)
                on_stack.add(node)
            following = successors.get(node, ())
            descended = False
            while position < len(following):
                other = following[position]
                position += 1
                if other not in universe:
                    continue
                if other not in index:
                    work.append((node, position))
                    work.append((other, 0))
                    descended = True
                    break
                if other in on_stack:
                    low[node] = min(low[node], index[other])
            if descended:
                continue
            if low[node] == index[node]:
                component: list[int] = []
                while True:
                    member = stack.pop()
                    on_stack.discard(member)
                    component.append(member)
                    if member == node:
                        break
                if len(component) > 1 or node in successors.get(node, ()):
                    found.append(component)
            if work:
                parent = work[-1][0]
                low[parent] = min(low[parent], low[node])
    return found
