"""Source positions of the code of a block, as far as the location table tells (3.11+): equal for copies.

Without it two sides of a conditional expression that say the same would look like copies of one.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Generic, TypeVar

from depyf.decompiler.bytecode import ops
from depyf.decompiler.cfg.program import Program

_VARIABLES = frozenset({ops.LOAD_FAST, ops.LOAD_DEREF, ops.LOAD_GLOBAL, ops.LOAD_NAME})
_COMPUTES = frozenset({ops.CALL, ops.CALL_EX, ops.BINARY, ops.LOAD_ATTR, ops.SUBSCR})
_COMPUTES |= {ops.COMPARE, ops.IS, ops.CONTAINS}

T = TypeVar("T")


def computed_at(program: Program, code: list[int]) -> tuple[object, ...]:
    """The places of what ``code`` computes."""
    return tuple([program.place(i) for i in code if program.instrs[i].op in _COMPUTES])


def begins_at(program: Program, start: int) -> object:
    """The place of the variable that the code at ``start`` begins with.

    None where that is not known: the second half of a superinstruction has the place of the first.
    """
    instrs = program.instrs
    alone = start == 0 or instrs[start - 1].offset != instrs[start].offset
    return program.place(start) if alone and instrs[start].op in _VARIABLES else None


class Alike(Generic[T]):
    """Groups what has one key and begins in one place; a place that is not known may be any."""

    def __init__(self) -> None:
        self._groups: dict[Hashable, list[tuple[object, list[T]]]] = {}

    def add(self, key: Hashable, place: object, item: T) -> T:
        """The first item of the group that ``item`` is in now; a TypeError if ``key`` cannot be hashed."""
        groups = self._groups.setdefault(key, [])
        for at, (known, items) in enumerate(groups):
            if place is None or known is None or known == place:
                groups[at] = (place if known is None else known, items)
                items.append(item)
                return items[0]
        groups.append((place, [item]))
        return item

    def __iter__(self) -> Iterator[tuple[Hashable, list[T]]]:
        """Key and items of each group, in the order of their first items' keys."""
        for key, groups in self._groups.items():
            for at, (_, items) in enumerate(groups):
                yield (key, at), items
