"""The values that one size may have, given its range and the conditions on it alone.

Input: torch's range and conditions.  Output: ``AllowedSizes`` in words: ``48 to 51``, ``multiples of 4 from 8``.  The
conditions are tried on the first values of the range and around every number that they mention, products and quotients
of these included.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from depyf.run.shapes.size_expression import NO_VALUE, SizeExpression, evaluator

_RANGE = re.compile(r"\[(?P<low>-?\w+), (?P<high>-?\w+)\]")
_WINDOW = 200
_FAR = 128
"""So many values far above all numbers in the conditions are tried where there is no limit."""
_BELOW = 1_000_000
_FEW = 3
_MOST_NUMBERS = 12


@dataclass(frozen=True, slots=True)
class AllowedSizes:
    """``low`` and ``high`` (None: no limit) with ``step`` between two values; ``without``: single values left out;
    ``exact`` is False where that does not describe them all."""

    low: int | None
    high: int | None
    step: int = 1
    without: tuple[int, ...] = ()
    exact: bool = True
    examples: tuple[int, ...] = ()
    """Some of them, spread over the range."""
    words: str = ""
    """What is said instead of all that."""
    period: int = 0
    """With more than one value in each so many; ``examples`` begins with the first of them."""

    def __str__(self) -> str:
        if self.words:
            return self.words
        if self.low is not None and self.low == self.high:
            return str(self.low)
        span = "any"
        if self.low is not None and self.high is not None:
            span = f"{self.low} to {self.high}"
        elif self.low is not None:
            span = f"{self.low} or more"
        elif self.high is not None:
            span = f"up to {self.high}"
        if self.step > 1 and self.low is not None:
            last = "" if self.high is None else f" to {self.high}"
            if self.low % self.step == 0:
                span = f"multiples of {self.step} from {self.low}{last}"
            else:
                span = f"{self.low}, {self.low + self.step}, {self.low + 2 * self.step}, ...{last}"
        if self.period:
            last = "" if self.high is None else f", up to {self.high}"
            span = f"{', '.join(map(str, self.examples[:5]))}, ... (and so on, every {self.period}{last})"
        if self.without:
            span += ", not " + ", ".join(map(str, self.without))
        return span if self.exact else f"{span}, not all of them"


def bounds(text: str) -> tuple[int | None, int | None]:
    """``[2, int_oo]`` -> (2, None); (None, None) for what is no range of integers."""
    match = _RANGE.fullmatch(text.strip())
    if match is None:
        return None, None
    low, high = match["low"], match["high"]
    return (
        int(low) if low.lstrip("-").isdigit() else None,
        int(high) if high.isdigit() and int(high) < 1 << 62 else None,
    )


def candidates(low: int | None, high: int | None, conditions: Sequence[SizeExpression]) -> list[int]:
    """Values of the range on which conditions are tried, in order."""
    start = low if low is not None else -16
    last = start + _WINDOW if high is None else min(high, start + _WINDOW)
    found = set(range(start, last + 1))
    lowest = start
    if low is None:
        lowest = -_BELOW
        found |= set(range(lowest, lowest + _FAR))
    numbers = list(dict.fromkeys(n for c in conditions for n in c.numbers if n > 1))[:_MOST_NUMBERS]
    near = {*numbers, *(a * b for a in numbers for b in numbers), *(a // b for a in numbers for b in numbers)}
    found |= {n + d for n in near for d in (-1, 0, 1)}
    if high is not None:
        found |= set(range(max(start, high - 16), high + 1))
    else:
        found |= set(range(far := max(found) + 1000, far + _FAR))
    return sorted(n for n in found if n >= lowest and (high is None or n <= high))


def holding(values: Sequence[int], name: str, condition: SizeExpression) -> list[int]:
    """The ``values`` for which the condition is true or has no value."""
    program = evaluator(condition)

    def holds(value: int) -> bool:
        try:
            return bool(program({name: value}))
        except NO_VALUE:
            return True

    return [value for value in values if holds(value)]


def described(values: Sequence[int], tried: Sequence[int], low: int | None, high: int | None) -> AllowedSizes:
    """``values`` (in order) of those that were ``tried``, in a range of torch's."""
    if not values:
        return AllowedSizes(low, high, exact=False)
    least = None if low is None and values[0] < tried[0] + _FAR else values[0]
    most: int | None = values[-1] if high is not None or values[-1] <= tried[-1] - _FAR else None
    examples = tuple(dict.fromkeys([*values[:4], values[len(values) // 2], *values[-2:]]))
    start = values[0]
    within = [v for v in tried if start <= v <= min(start + _WINDOW, values[-1])]
    kept = [v for v in values if v <= start + _WINDOW]
    chosen = set(kept)
    missing = [v for v in within if v not in chosen]
    if len(missing) <= _FEW and len(kept) > len(missing) * 4:
        return AllowedSizes(least, most, 1, tuple(missing), True, examples)
    step = math.gcd(*(v - start for v in kept)) if len(kept) > 1 else 1
    if step > 1 and kept == [v for v in within if (v - start) % step == 0]:
        return AllowedSizes(least, most, step, (), True, examples)
    period = _period(kept, within)
    shown = tuple(dict.fromkeys([*values[:5], *examples]))
    return AllowedSizes(least, most, exact=bool(period), examples=shown, period=period)


def _period(kept: Sequence[int], within: Sequence[int]) -> int:
    """The smallest distance after which the same values are left out again; 0 where that is not seen three times."""
    chosen = set(kept)
    for period in range(2, (within[-1] - within[0]) // 3 + 1):
        if all((value in chosen) == (value + period in chosen) for value in within if value + period <= within[-1]):
            return period
    return 0
