"""What was proven about one decompiled code object, and the exceptions that end a proof where the two codes differ."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Status(str, enum.Enum):
    """IDENTICAL: recompiles to the same instructions, as ``lower`` gives them.  EQUIVALENT: bisimilar.  UNVERIFIED: no
    proof.

    FAILED: there is no source for this code object, only a ``raise NotImplementedError``.
    WRONG is internal: the verifier found a difference.  Text with that verdict is never returned.
    """

    IDENTICAL = "IDENTICAL"
    EQUIVALENT = "EQUIVALENT"
    UNVERIFIED = "UNVERIFIED"
    FAILED = "FAILED"
    WRONG = "WRONG"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The status of one code object (not of the code nested in it), with the reason where it is not proven, and what
    the proof assumes where it is.

    ``difference`` is the first instruction in which EQUIVALENT code is not the same.
    """

    qualname: str
    status: Status
    reason: str = ""
    line: int | None = None
    difference: str = ""

    @property
    def proven(self) -> bool:
        return self.status in (Status.IDENTICAL, Status.EQUIVALENT)


class Mismatch(Exception):
    """The two sides differ; ``pc`` is the original instruction the difference was found at."""

    def __init__(self, reason: str, pc: int = -1) -> None:
        super().__init__(reason)
        self.reason = reason
        self.pc = pc


class LifetimeMismatch(Mismatch):
    """The two sides do the same things, but keep different objects alive."""
