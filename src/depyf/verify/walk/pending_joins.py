"""The worklist of joins, ordered by their position in the original.

A join is then gone through when the paths that lead to it have arrived, and not once for each of them: after ``n``
conditional expressions on one stack there are ``2**n`` paths.
"""

from __future__ import annotations

from heapq import heappop, heappush

Key = tuple[int, int, tuple[int, ...]]
"""The instructions of both sides (``-2 - target`` at a handler), and constant flags that select a path."""


class Pending:
    """A set of keys; ``pop`` gives the one whose instruction of the original comes first."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, Key]] = []
        self._keys: set[Key] = set()

    def __bool__(self) -> bool:
        return bool(self._keys)

    def add(self, key: Key) -> None:
        if key not in self._keys:
            self._keys.add(key)
            heappush(self._heap, (key[0] if key[0] >= -1 else -2 - key[0], key))

    def pop(self) -> Key:
        key = heappop(self._heap)[1]
        self._keys.remove(key)
        return key
