"""What the guards of one line of the program take of a check of all guards: one measurement."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GuardTime:
    """The guards of an entry that one line needs."""

    file: str
    line: int
    seconds: float
