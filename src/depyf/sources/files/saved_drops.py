"""The guards that a saved file leaves out, and the values that it serves alone, as its summary says.

Data, with words.  torch's terms: a dropped guard is *risky* if the captured variants differ by it, or if a
configuration chooses its value; a source *will not generalise* where each variant fixes its value.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Dropped:
    """A guard that the saved code does not check."""

    kind: str
    source: str
    code: str = ""
    """What it checked; "" where torch has no text of it."""
    risky: bool = False
    alike: bool = False
    """It held in every variant, so torch left it out."""


@dataclass(frozen=True, slots=True)
class SavedDrops:
    """The summary, in one file, of the guards that are not checked."""

    dropped: tuple[Dropped, ...] = ()
    fixed: tuple[str, ...] = ()
    """The sources of which no variant serves another value."""

    def __bool__(self) -> bool:
        return bool(self.dropped or self.fixed)
