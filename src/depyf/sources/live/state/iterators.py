"""Iterators of Python itself, such as ``iter([1, 2])``, ``zip`` and ``enumerate``: a copy at the same place.

Input: an iterator.  Output: a copy, what it runs over, and how much is left.  Only exact built-in types are read, by
their own ``__reduce__``, so no code of the program runs.  An iterator that runs over another one, as ``zip`` does, has
a copy if the other one has.
"""

from __future__ import annotations

from typing import Any

_PLAIN: tuple[Any, ...] = (
    type(iter([])), type(reversed([])), type(iter(())), type(iter(range(0))), type(iter(range(1 << 70))),
    type(iter("")), type(iter("\u1234")), type(iter(b"")), type(iter(bytearray())),
)  # fmt: skip
"""An object that holds its values and a position.  A copy of an iterator of a set or of a dict has another type."""
_OVER_OTHERS: tuple[Any, ...] = (enumerate, zip, map, filter)
_INDEXED = (tuple, str, bytes)
"""Sequences of which ``reversed`` keeps a position, as a plain iterator does; its class is ``reversed`` for all."""


def is_copied(value: Any) -> bool:
    """Whether ``value`` is an iterator of which a copy can be made."""
    kind = type(value)
    if kind in _OVER_OTHERS:
        return all(is_copied(part) for part in _arguments(value) if hasattr(type(part), "__next__"))
    return kind in _PLAIN or (kind is reversed and type(_arguments(value)[0]) in _INDEXED)


def copied_iterator(value: Any, again: dict[int, Any]) -> Any:
    """Another iterator at the same place.  ``again``: the copies that were made, by ``id`` of the original: an iterator
    that two others run over is one for both copies, too."""
    if id(value) not in again:
        made, arguments, *state = value.__reduce__()
        if type(value) in _OVER_OTHERS:
            arguments = tuple(copied_iterator(part, again) if is_copied(part) else part for part in arguments)
        found = made(*arguments)
        if state and state[0] is not None:
            found.__setstate__(state[0])
        again[id(value)] = found if type(found) is type(value) else value  # one that has ended stays so
    return again[id(value)]


def runs_over(value: Any) -> list[Any]:
    """The objects that an iterator takes its values from, and the functions that it calls; those of the iterators that
    it runs over, too."""
    found: list[Any] = []
    for part in _arguments(value):
        found += runs_over(part) if is_copied(part) else [part]
    return found


def place_of(value: Any) -> tuple[int, ...]:
    """How many values are left in it, or in each of the iterators that it runs over."""
    if type(value) in _OVER_OTHERS:
        numbers = tuple(part for part in _arguments(value) if type(part) is int)
        return numbers + tuple(left for part in _arguments(value) if is_copied(part) for left in place_of(part))
    return (int(value.__length_hint__()),)


def left_in(value: Any) -> str:
    """The place of an iterator, in words."""
    place = place_of(value)
    return f"{place[0]} left" if len(place) == 1 else f"at {', '.join(map(str, place))}"


def _arguments(value: Any) -> tuple[Any, ...]:
    return tuple(value.__reduce__()[1])
