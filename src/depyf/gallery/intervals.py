"""Intervals of tensor elements: the values of one tensor lie in them, a few exceptional constants apart.

``Span(0, 63, {-100})``: everything from 0 to 63, and -100 (labels that a loss ignores).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

INF = math.inf


@dataclass(frozen=True, slots=True)
class Span:
    """``low`` to ``high``, both included; ``extras`` lie outside."""

    low: float
    high: float
    extras: frozenset[float] = frozenset()

    def all(self) -> Span:
        """Without exceptions: they count as part of the interval."""
        values = [self.low, self.high, *self.extras]
        return Span(min(values), max(values))

    def within(self, low: float, high: float, allowed: frozenset[float] = frozenset()) -> bool:
        return low <= self.low and self.high <= high and all(low <= e <= high or e in allowed for e in self.extras)

    def with_value(self, value: float) -> Span:
        """Some elements replaced by a constant."""
        return self if self.low <= value <= self.high else Span(self.low, self.high, self.extras | {value})

    def join(self, other: Span) -> Span:
        extras = self.extras | other.extras
        return Span(min(self.low, other.low), max(self.high, other.high), extras)


TRUTH = Span(0, 1)
ANYTHING = Span(-INF, INF)


def _times(a: float, b: float) -> float:
    return 0.0 if a == 0 or b == 0 else a * b


def add(a: Span, b: Span) -> Span:
    a, b = a.all(), b.all()
    return Span(a.low + b.low if {a.low, b.low} != {INF, -INF} else -INF, a.high + b.high if {a.high, b.high} != {INF, -INF} else INF)  # fmt: skip


def negate(a: Span) -> Span:
    a = a.all()
    return Span(-a.high, -a.low)


def multiply(a: Span, b: Span) -> Span:
    a, b = a.all(), b.all()
    ends = [_times(x, y) for x in (a.low, a.high) for y in (b.low, b.high)]
    return Span(min(ends), max(ends))


def divide(a: Span, b: Span, floor: bool = False) -> Span:
    a, b = a.all(), b.all()
    if b.low <= 0 <= b.high:
        return ANYTHING
    ends = [0.0 if math.isinf(y) else x / y for x in (a.low, a.high) for y in (b.low, b.high)]
    if floor:
        ends = [math.floor(e) if math.isfinite(e) else e for e in ends]
    return Span(min(ends), max(ends))


def modulo(a: Span, b: Span) -> Span:
    b = b.all()
    if b.low == b.high and b.low > 0:
        return a if a.all().low >= 0 and a.all().high < b.low else Span(0, b.low - 1)
    return ANYTHING if b.low <= 0 else Span(0, b.high)


def clamp(a: Span, low: float, high: float) -> Span:
    a = a.all()
    return Span(min(max(a.low, low), high), max(min(a.high, high), low))


def power(a: Span, exponent: float) -> Span:
    a = a.all()
    if exponent % 2 == 0 and exponent > 0:
        ends = [_power(a.low, exponent), _power(a.high, exponent)]
        return Span(0 if a.low <= 0 <= a.high else min(ends), max(ends))
    if a.low >= 0 and exponent > 0:
        return Span(_power(a.low, exponent), _power(a.high, exponent))
    if a.low > 0:
        return Span(0, INF)
    return ANYTHING


def _power(base: float, exponent: float) -> float:
    try:
        return float(abs(base) ** exponent)
    except OverflowError:
        return INF


def repeated(a: Span, times: float) -> Span:
    """Sums of up to ``times`` elements."""
    a = a.all()
    return Span(min(a.low, _times(a.low, times)), max(a.high, _times(a.high, times)))
