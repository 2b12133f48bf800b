"""Strongly connected components, by Tarjan's algorithm without recursion: every loop is inside one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence


def components(nodes: Iterable[int], successors: Mapping[int, Sequence[int]]) -> list[list[int]]:
    """Strongly connected components with at least one edge inside (self loops included), in reverse topological order."""
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
