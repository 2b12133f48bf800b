"""Finds an insertion order that gives a constant set its iteration order.

Numbers, and tuples of them, hash alike in every process and version, so that a program can tell the order of a set of
them: where two share a place in its table, the first one gets it.  Text hashes by a seed of the process.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from heapq import heapify, heappop, heappush
from itertools import count, product
from typing import Any

from depyf.safety.depth import any_depth

_NUMBERS = frozenset({int, bool, float, complex})
_EFFORT = 60_000
"""The maximum number of insertions into sets while searching for an order."""


def is_ordered(items: Sequence[Any] | frozenset[Any]) -> bool:
    """Whether a set of ``items`` iterates alike in every process that fills it alike."""
    return all(map(_hashes_alike, items))


def varies(value: Any) -> bool:
    """Whether a constant is, or holds, a set that iterates in another order in each process."""
    return type(value) in (frozenset, tuple) and _items_vary(value)


@any_depth
def _items_vary(value: Any) -> bool:
    if type(value) is frozenset:
        return len(value) > 1 and not is_ordered(value) or any(map(varies, value))
    return any(map(varies, value))


@any_depth
def _hashes_alike(item: Any) -> bool:
    if type(item) is tuple:
        return all(map(_hashes_alike, item))
    return type(item) in _NUMBERS and item == item  # a nan hashes by its address


def compared(value: frozenset[Any]) -> list[tuple[Any, ...]]:
    """The items of a set that hash alike, in the order in which a search for something that hashes as they do compares
    it.

    >>> compared(frozenset([-2, -1, 5]))
    [(-2, -1)]
    """
    groups: dict[int, int] = {}
    for item in filter(_hash_is_known, value):
        groups[hash(item)] = groups.get(hash(item), 0) + 1
    return [_Sought(key).among(value) for key, count in sorted(groups.items()) if count > 1]


@any_depth
def _hash_is_known(item: Any) -> bool:
    if type(item) is tuple or type(item) is frozenset:
        return all(map(_hash_is_known, item))
    return type(item) in _NUMBERS and bool(item == item)


class _Sought:
    """Something that is equal to nothing, and notes what it is compared with."""

    def __init__(self, key: int) -> None:
        self._key = key
        self._seen: list[Any] = []

    def __hash__(self) -> int:
        return self._key

    def __eq__(self, other: object) -> bool:
        self._seen.append(other)
        return False

    def among(self, value: frozenset[Any]) -> tuple[Any, ...]:
        assert self not in value
        return tuple(self._seen)


def filling_order(wanted: Sequence[Any], twice: bool = False) -> list[Any] | None:
    """An order of ``wanted`` in which a new set has to be filled to iterate as ``wanted``; None if none is found.

    With ``twice``, another set is filled with that one in turn, as a compiler may do it.  Best first: where items come
    out in places of each other, one of them is put in before another.

    >>> filling_order([-2, 6, -1])
    [6, -1, -2]
    """
    known = _search(_Exactly(wanted), twice)
    return None if known is None else [wanted[index] for index in known]


class _Exactly:
    """Items that are equal only to items of the same types."""

    def __init__(self, items: Sequence[Any]) -> None:
        self.items = items
        self._key = tuple(map(repr, items))

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Exactly) and self._key == other._key


@lru_cache(maxsize=256)
def _search(exactly: _Exactly, twice: bool) -> tuple[int, ...] | None:
    wanted = exactly.items
    start = tuple(range(len(wanted)))
    starts = dict.fromkeys((start, *_sorted(wanted, start)))
    seen = set(starts)
    tries = count()
    waiting = [(_wrong(wanted, order, twice), next(tries), order) for order in starts]
    heapify(waiting)
    budget = _EFFORT
    while waiting:
        wrong, _, order = heappop(waiting)
        if not wrong:
            return order
        for one, place in product(wrong, range(len(order))):
            rest = [index for index in order if index != one]
            rest.insert(place, one)
            new = tuple(rest)
            if new in seen:
                continue
            budget -= len(new)
            if budget < 0:
                return None
            seen.add(new)
            heappush(waiting, (_wrong(wanted, new, twice), next(tries), new))
    return None


def _sorted(wanted: Sequence[Any], order: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """The items by size, as most sets are written."""
    if all(type(item) in (int, float, bool) for item in wanted):
        for backwards in (False, True):
            yield tuple(sorted(order, key=wanted.__getitem__, reverse=backwards))


class _Wrong(tuple[int, ...]):
    """The places that hold another item than wanted; compares by their number."""

    __slots__ = ()

    def __lt__(self, other: tuple[int, ...]) -> bool:
        return len(self) < len(other)


def _wrong(wanted: Sequence[Any], order: Sequence[int], twice: bool) -> _Wrong:
    """Where a set that is filled in ``order`` does not iterate as ``wanted``."""
    made = frozenset([wanted[index] for index in order])
    if twice:
        made = frozenset(list(made))
    return _Wrong([at for at, (one, other) in enumerate(zip(made, wanted)) if one is not other])
