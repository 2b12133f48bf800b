"""The exceptions that end a walk where the two codes differ."""

from __future__ import annotations


class Mismatch(Exception):
    """The two sides differ; ``pc`` is the original instruction the difference was found at."""

    def __init__(self, reason: str, pc: int = -1) -> None:
        super().__init__(reason)
        self.reason = reason
        self.pc = pc


class LifetimeMismatch(Mismatch):
    """The two sides do the same things, but keep different objects alive."""
