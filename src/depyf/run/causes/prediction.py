"""What is predicted of a way out: how many compilations of the run it leaves.

Input: the replay of guards (``ways_out.py``).  Output: ``Prediction``: a number, and whether that is what is left, or a
bound.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any

from depyf.run.causes.folding import counted


class Bound(enum.Enum):
    """Whether the predicted number is exact, a lower bound or an upper bound."""

    EXACT = ""
    OR_MORE = " or more"
    """Calls were not recorded, or no entry shows what the program asks about a symbol."""
    OR_FEWER = " or fewer"
    """A call needs an entry only because of the strides of a tensor.  What a compiled function returns may have others,
    where another entry makes it."""


_MARKS = {Bound.EXACT: "", Bound.OR_MORE: "+", Bound.OR_FEWER: "-"}


@dataclass(frozen=True, slots=True)
class Prediction:
    """Compilations of the run, as it is and with a way out."""

    before: int
    after: int
    bound: Bound = Bound.EXACT

    @property
    def removed(self) -> int:
        return self.before - self.after

    @property
    def text(self) -> str:
        """``8 compilations -> 2, predicted``."""
        return f"{counted(self.before, 'compilation')} -> {self.left}, predicted"

    @property
    def left(self) -> str:
        """The predicted number of compilations as text: ``2 or more``."""
        return f"{self.after}{self.bound.value}"

    @property
    def short(self) -> str:
        """The predicted number of compilations for a table: ``2+`` for 2 or more, ``2-`` for 2 or fewer."""
        return f"{self.after}{_MARKS[self.bound]}"

    def holds(self, measured: int) -> bool:
        """Whether ``measured`` compilations are what was predicted."""
        if self.bound is Bound.OR_MORE:
            return measured >= self.after
        return measured <= self.after if self.bound is Bound.OR_FEWER else measured == self.after

    def to_json(self) -> dict[str, Any]:
        """Plain data, as it stands in the manifest."""
        bound = {} if self.bound is Bound.EXACT else {self.bound.name.lower(): True}
        return {"compilations": self.before, "left": self.after, **bound}
