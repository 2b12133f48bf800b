"""What compiled code read of the program, and what of that no guard looks at.

Input: nothing.  Output: records, and the words of a value without a guard: the same on every page.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

from depyf.run.places.place import Place


class WhyUnguarded(enum.Enum):
    """The reasons for which no guard checks a value."""

    FILTER = "filter"
    """A filter left the guard out."""
    NONE = "none"
    """torch made no guard for it."""
    IDENTITY = "identity"
    """It is a comparison of objects that torch decided when it compiled."""
    LIBRARY = "library"
    """It is a constant of a library."""
    SETTING = "setting"
    """A setting of torch says so."""
    STATE = "state"
    """It is the state of an object that torch copied when it compiled."""


@dataclass(frozen=True, slots=True)
class UnguardedValue:
    """A value that may change without a recompilation."""

    name: str
    """As the program writes it: ``self.factor``, ``SCALE``."""
    place: Place
    """The line that reads it."""
    kind: WhyUnguarded
    why: str
    """Why no guard looks at it, in words."""

    @property
    def likely(self) -> bool:
        """Whether a program may well change it: not a constant of a library."""
        return self.kind in (WhyUnguarded.FILTER, WhyUnguarded.NONE, WhyUnguarded.IDENTITY, WhyUnguarded.STATE)

    @property
    def at(self) -> str:
        """The file's last name and the line: ``train.py:12``."""
        return f"{self.place.filename.rpartition('/')[2]}:{self.place.line}"

    def __str__(self) -> str:
        return f"{self.name} ({self.at}): {self.why}"


@dataclass(frozen=True, slots=True)
class ProgramRead:
    """A value that a function, or one that it calls, reads in every call."""

    name: str
    """As the program writes it: ``self.factor``, ``SCALE``."""
    place: Place
    begins: int
    """The line on which the function of ``place`` begins."""
    library: str = ""
    """The library whose constant it is; "" for one of the program."""


@dataclass(frozen=True, slots=True)
class IdentityRead:
    """``one is other``, or ``is not``, for two objects that are no constants."""

    name: str
    place: Place
    begins: int
    """The line on which the function of ``place`` begins."""
    one: str
    other: str
    known: bool
    """Whether one of the objects is at hand; of the others only guards tell what they are."""


@dataclass(frozen=True, slots=True)
class StateRead:
    """Random numbers that a function draws from a ``random.Random`` of the program."""

    name: str
    """The object, as the program writes it: ``self.rng``."""
    place: Place
    begins: int
    """The line on which the function of ``place`` begins."""


Read = ProgramRead | IdentityRead | StateRead


@dataclass(frozen=True, slots=True)
class FunctionReads:
    """The values that a function reads, and those (``never``) that torch never guards."""

    reads: tuple[Read, ...]
    never: tuple[UnguardedValue, ...] = ()
