"""What a name or an expression holds, as far as it matters for the value that is followed.

Input: nothing.  Output invariant: ``joined`` is commutative, associative and idempotent: where two ways meet, what is
held on either is held.
"""

from __future__ import annotations

import enum


class Held(enum.IntEnum):
    """What a name holds.  Where two branches join, the larger member wins."""

    PLAIN = 0
    """A number that no tensor is."""
    FRESH = 1
    """A container that this function made, without the value in it."""
    CODES = 2
    """A container of modules: which of them runs is a branch."""
    OTHER = 3
    """Anything else: it may be a tensor."""
    MASK = 4
    """The value compared with something that may be a tensor."""
    TEXT = 5
    """A text with the value in it."""
    INSIDE = 6
    """A container with the value in it."""
    MIXED = 7
    """The value computed with something that may be a tensor."""
    VALUE = 8
    """The value, or a number made of it."""

    @property
    def followed(self) -> bool:
        """Whether the followed value, or what was computed from it, is held."""
        return self > Held.OTHER


Names = dict[str, Held]
"""Name, or name with attributes (``self.scale``) -> what it holds; OTHER for what is not in it."""


def joined(one: Names | None, other: Names | None) -> Names | None:
    """What names hold where two ways meet; None is a way that ends before."""
    if one is None or other is None:
        return dict(other) if one is None and other is not None else one
    return {name: max(one.get(name, Held.OTHER), other.get(name, Held.OTHER)) for name in {**one, **other}}
