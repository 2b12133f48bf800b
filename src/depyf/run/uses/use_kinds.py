"""The kinds of uses of a value in a function.

Input: nothing.  Output invariant: plain data; a use is named by its value wherever it is kept.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass


class ValueUse(enum.Enum):
    """What a value is used for."""

    BRANCH = "branch"
    """It decides an ``if``, a conditional expression, an ``and``, a ``match``, or which of several modules runs."""
    CHECK = "check"
    """It decides whether an error is raised: an assertion, an ``if`` that does nothing but raise."""
    REPORT = "report"
    """It decides whether something is printed or logged: an ``if`` that does nothing else."""
    LOOP = "loop"
    """It says how often a loop runs: ``range(n)``, ``while n``."""
    INDEX = "index"
    """It is in the brackets of a subscript (also of a slice), or an index of a function of torch."""
    KEY = "key"
    """It picks something out of a list or a dict: one that is made in the same file, or by a method of a dict."""
    SIZE = "size"
    """It is a size of a tensor or of a list: ``torch.zeros(n)``, ``x.view(n, -1)``, ``[0] * n``."""
    CONSTANT = "constant"
    """It is passed to a function of torch that must know it while compiling: ``one_hot``."""
    LOG = "log"
    """It is printed, logged, or part of the message of an error."""
    ARITHMETIC = "arithmetic"
    """It is computed with something that may be a tensor."""
    RETURNED = "returned"
    """It leaves the function as its result: what the caller does with it is not known."""
    STORED = "stored"
    """It is kept in an attribute, a global name or a container that the function did not make."""
    UNKNOWN = "unknown"
    """It is passed to a function that is not known; or the value was not found."""


@dataclass(frozen=True, slots=True)
class PlacedUse:
    """A use of a value and its line; line 0 where the value was not found."""

    line: int
    use: ValueUse

    def __lt__(self, other: PlacedUse) -> bool:
        return (self.line, self.use.value) < (other.line, other.use.value)
