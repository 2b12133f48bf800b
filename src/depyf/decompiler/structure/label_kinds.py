"""Labels: those of basic blocks are the blocks' numbers; every other one is made, and told apart, here.

A label is an int, because it keys the graphs of containers; its kind stands above the number, so that labels of two
kinds are never the same and those of blocks come first in order.
"""

from __future__ import annotations

from enum import Enum

_NUMBERS = 40
"""Bits of the number."""


class LabelKind(Enum):
    """What a label names, and in which order those of several kinds come."""

    BLOCK = 0
    """A basic block."""
    TRY = 1
    """A whole ``try`` statement, by its container."""
    DISPATCH = 2
    """A test of a variable that selects one of several places."""
    FINALLY_END = 3
    """The end of a ``finally`` body, by its container."""
    BODY_END = 4
    """The end of a module or class body, which cannot return."""
    STATEMENT_END = 5
    """The end of a statement whose clauses cannot leave it themselves."""
    INNER_LOOP_END = 6
    """The end of a loop in a loop, which is left first."""


def make_label(kind: LabelKind, number: int) -> int:
    """The label of that kind with that number, which is not negative."""
    return kind.value << _NUMBERS | number


def kind_of(label: int) -> LabelKind:
    """What a label names."""
    return LabelKind(label >> _NUMBERS)


def number_of(label: int) -> int:
    """The number within its kind."""
    return label & (1 << _NUMBERS) - 1


def is_try(label: int) -> bool:
    """Whether a label is that of a whole ``try`` statement; its number is the container of its body."""
    return label >> _NUMBERS == 1


def is_block(label: int) -> bool:
    """Whether a label is that of a basic block."""
    return label >> _NUMBERS == 0
