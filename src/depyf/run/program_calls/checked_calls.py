"""Calls of compiled functions that were made as Python, too, while a program ran (``depyf run --check``).

Input: nothing.  Output invariant: plain data; one record for all calls of one cache entry.
"""

from __future__ import annotations

from dataclasses import dataclass

from depyf.run.places.place import Place
from depyf.run.records import CompileKey

THE_CALL = "the call"
"""What differs where one side raises an error."""
THE_BACKWARD = "the backward"
"""What differs where it raises an error as it is compiled."""
NOT_THE_SAME = "not the same"
"""The reason where there is no more to say than both values."""


@dataclass(frozen=True, slots=True)
class CallDifference:
    """A value that is not the same after the call as Python and after the compiled call."""

    path: str
    """``the result[0]``, ``self.count``."""
    python: str
    compiled: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class CheckedCalls:
    """The calls that one cache entry served."""

    function: str
    place: Place
    """Where the function begins."""
    key: CompileKey | None
    """The compilation of the entry; None where none is known, so that the function ran as ordinary Python, or in
    several parts."""
    calls: int
    """How many calls there were while the check went on."""
    checked: int
    """How many of them were made as Python, too."""
    apart: tuple[CallDifference, ...] = ()
    """What differed in the first call that did not do the same."""
    differed_at: int = 0
    """The number of that call, from 1 on; 0 where all did the same."""
    causes: tuple[str, ...] = ()
    """The layer and the cause, a sentence each."""
    ways: tuple[str, ...] = ()
    """What the program can change."""
    not_compared: tuple[str, ...] = ()
    """What of these calls was not compared, and why: a sentence each."""
