"""In which order variables come that the compiler sorts by name: cells, and free variables, of each code object.

Variables are numbers.  Other names for some of them must leave every code object's order as it is.
"""

from __future__ import annotations

import itertools
from heapq import heapify, heappop, heappush


class Sorting:
    """Which variables come before which."""

    __slots__ = ("_after", "_before")

    def __init__(self) -> None:
        self._before: dict[int, set[int]] = {}
        self._after: dict[int, set[int]] = {}

    def add(self, row: list[int]) -> None:
        """Some code object has these variables in this order."""
        if len(row) < 2:
            return
        for one in row:
            self._before.setdefault(one, set())
        for one, other in itertools.pairwise(row):
            if one != other:
                self._before[other].add(one)
                self._after.setdefault(one, set()).add(other)

    def is_sorted(self, variable: int) -> bool:
        """Whether a code object has the variable beside others."""
        return variable in self._before

    def before(self, variable: int) -> set[int]:
        """Those that come right before it."""
        return self._before.get(variable, set())

    def in_order(self) -> list[int]:
        """All of them; what no order can have (code that no compiler wrote) comes last."""
        missing = {variable: len(before) for variable, before in self._before.items()}
        ready = [variable for variable, count in missing.items() if not count]
        heapify(ready)
        found: list[int] = []
        while ready:
            variable = heappop(ready)
            found.append(variable)
            for other in self._after.get(variable, ()):
                missing[other] -= 1
                if not missing[other]:
                    heappush(ready, other)
        known = set(found)
        return found + [variable for variable in self._before if variable not in known]
