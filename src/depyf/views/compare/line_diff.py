"""Unified differences of two texts, in time that grows with their size: ``difflib`` alone may take its cube."""

from __future__ import annotations

import difflib
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

_SMALL = 4_000_000
"""Lines of one text times lines of the other, up to which ``difflib`` looks for what they have in common."""
_GAP = 40_000
"""The same for the lines between two that are in both texts once."""


def unified(before: str, after: str, names: tuple[str, str]) -> tuple[str, ...]:
    """The lines of ``diff -u``, without line ends."""
    a, b = before.splitlines(), after.splitlines()
    if len(a) * len(b) <= _SMALL:
        return tuple(difflib.unified_diff(a, b, *names, lineterm=""))
    return tuple(_written(a, b, names))


_HEADER = 2
"""The lines that name the two texts."""


def changed_lines(diff: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The lines of ``unified`` that only one text has, each as its sign (``-`` or ``+``) and what stands there."""
    return ((line[0], line[1:]) for line in diff[_HEADER:] if line.startswith(("-", "+")))


class _Aligned(difflib.SequenceMatcher[str]):
    """Two texts whose common lines are found by ``in_common``."""

    def __init__(self, a: Sequence[str], b: Sequence[str]) -> None:
        super().__init__(None, (), ())
        self.blocks = [*in_common(a, b), (len(a), len(b), 0)]

    def get_opcodes(self) -> list[Any]:
        found: list[Any] = []
        i = j = 0
        for at, place, count in self.blocks:
            if i < at or j < place:
                tag = "replace" if i < at and j < place else "delete" if i < at else "insert"
                found.append((tag, i, at, j, place))
            i, j = at + count, place + count
            if count:
                found.append(("equal", at, i, place, j))
        return found


def _written(a: Sequence[str], b: Sequence[str], names: tuple[str, str]) -> Iterator[str]:
    for number, group in enumerate(_Aligned(a, b).get_grouped_opcodes()):
        if not number:
            yield from (f"--- {names[0]}", f"+++ {names[1]}")
        first, last = group[0], group[-1]
        yield f"@@ -{_range(first[1], last[2])} +{_range(first[3], last[4])} @@"
        for tag, a_start, a_end, b_start, b_end in group:
            if tag == "equal":
                yield from (" " + line for line in a[a_start:a_end])
                continue
            yield from ("-" + line for line in a[a_start:a_end])
            yield from ("+" + line for line in b[b_start:b_end])


def _range(start: int, end: int) -> str:
    length = end - start
    return str(start + 1) if length == 1 else f"{start + bool(length)},{length}"


def in_common(a: Sequence[str], b: Sequence[str]) -> list[tuple[int, int, int]]:
    """The common blocks of lines, as (index in ``a``, index in ``b``, length), grown around lines that are unique in
    both (patience diff)."""
    found: list[tuple[int, int, int]] = []

    def add(at: int, place: int, count: int) -> None:
        if found and found[-1][0] + found[-1][2] == at and found[-1][1] + found[-1][2] == place:
            at, place, count = found[-1][0], found[-1][1], found.pop()[2] + count
        found.append((at, place, count))

    i = j = 0
    for at, place in [*_anchors(a, b), (len(a), len(b))]:
        while i < at and j < place and a[i] == b[j]:
            add(i, j, 1)
            i, j = i + 1, j + 1
        same = 0
        while i < at - same and j < place - same and a[at - same - 1] == b[place - same - 1]:
            same += 1
        if 0 < (at - same - i) * (place - same - j) <= _GAP:
            gap = difflib.SequenceMatcher(None, a[i : at - same], b[j : place - same])
            for block in gap.get_matching_blocks()[:-1]:
                add(i + block.a, j + block.b, block.size)
        if same:
            add(at - same, place - same, same)
        i, j = at, place
    return found


def _anchors(a: Sequence[str], b: Sequence[str]) -> list[tuple[int, int]]:
    """The longest sequence of lines that both have once, in the order of both."""
    in_a, in_b = Counter(a), {line: place for place, line in enumerate(b)}
    once = Counter(b)
    ends: list[int] = []
    chain: list[tuple[int, int, int]] = []
    """Of each candidate: its places, and the candidate before it."""
    last: list[int] = []
    for at, line in enumerate(a):
        if in_a[line] == 1 and once[line] == 1:
            place = in_b[line]
            k = bisect_left(ends, place)
            chain.append((at, place, last[k - 1] if k else -1))
            ends[k : k + 1] = [place]
            last[k : k + 1] = [len(chain) - 1]
    found: list[tuple[int, int]] = []
    at = last[-1] if last else -1
    while at >= 0:
        found.append(chain[at][:2])
        at = chain[at][2]
    return found[::-1]
