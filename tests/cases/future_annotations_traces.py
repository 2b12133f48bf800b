from __future__ import annotations


class OfAttribute:
    x.attr: int = 0


class Conditional:
    x: int = 0
    if a:
        y: list[int] = 0


if a:
    z: int
# output: 3.10+
from __future__ import annotations


class OfAttribute:
    (_): None
    x.attr = 0


class Conditional:
    x: int = 0
    if a:
        y: list[int] = 0


if a:
    z: int
