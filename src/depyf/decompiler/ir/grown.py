"""Long sequences of nodes that grow by one element at a time without being copied.

``grown(before, added)`` is ``(*before, *added)``.  Short ones are ordinary tuples.  A long one shares its storage with
the one it was grown from: each sees only the elements it had when it was made, so that all stay as they were.  Where
two are grown from the same one, the second gets new storage.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, TypeVar, cast

_Item = TypeVar("_Item")
_LONG = 64
"""Shorter ones are copied: that is as quick, and a plain tuple is simpler to look at."""


class Grown(Sequence[Any]):
    """The first ``count`` elements of a list that is only ever appended to."""

    __slots__ = ("_count", "_items")

    def __init__(self, items: list[Any], count: int) -> None:
        self._items = items
        self._count = count

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Any]:
        return islice(self._items, self._count)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return tuple(self._items[at] for at in range(*index.indices(self._count)))
        if not -self._count <= index < self._count:
            raise IndexError(index)
        return self._items[index % self._count]

    def __repr__(self) -> str:
        return repr(tuple(self))

    def more(self, added: Iterable[Any]) -> Grown:
        """This and what is ``added``."""
        items = self._items if len(self._items) == self._count else self._items[: self._count]
        items.extend(added)
        return Grown(items, len(items))


def grown(before: tuple[_Item, ...], added: Iterable[_Item]) -> tuple[_Item, ...]:
    """``(*before, *added)``; typed as a tuple, of which it has all but ``+``, ``==`` and the hash."""
    if len(before) < _LONG:
        return (*before, *added)
    longer = before if isinstance(before, Grown) else Grown(list(before), len(before))
    return cast(tuple[_Item, ...], longer.more(added))
