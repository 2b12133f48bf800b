"""The ranks of a distributed run by what torch compiled on them, and how long they waited for each other.

Input: nothing.  Output invariant: plain data, as it stands in ``ranks.json`` beside the dumps of the ranks that are
shown.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from depyf.run.files.reading import DumpError, read_json
from depyf.run.store.codec import NotThat, made

RANKS = "ranks.json"


@dataclass(frozen=True, slots=True)
class FirstDifference:
    """The first record in which a group differs from the largest one."""

    id: str
    """The compilation."""
    what: str
    """Which record of it, in words."""
    line: int
    """In the log of the first rank of the group; 0 where the group lacks the record."""
    log: str
    other_line: int
    """In the log of the first rank of the largest group; 0 where that lacks the record."""
    other_log: str


@dataclass(frozen=True, slots=True)
class RankGroup:
    """Ranks whose logs are equal except for devices and times."""

    ranks: tuple[int, ...]
    shown: bool
    """There is a dump of its first rank."""
    since: FirstDifference | None = None
    """None for the largest group."""


@dataclass(frozen=True, slots=True)
class RankWait:
    """A compilation that one rank ended after the others, which wait for it in the next collective."""

    id: str
    function: str
    last: int
    seconds: float
    """How long the first rank waits."""
    typical: float
    """How long half of the ranks wait at least."""
    own: float
    """By how much the compilation itself took longer on the last rank than on half of the ranks."""


@dataclass(frozen=True, slots=True)
class RankGroups:
    """All ranks of a run."""

    count: int
    groups: tuple[RankGroup, ...] = ()
    """The largest one first."""
    waits: tuple[RankWait, ...] = ()
    """The longest ones, in the order of the compilations."""
    apart: float = 0.0
    """The seconds between the starts of the logs, if too many for ranks that wait for each other: then there are no
    ``waits``."""


def read_rank_groups(folder: Path) -> RankGroups | None:
    """What ``ranks.json`` in ``folder`` says; None where there is none.  DumpError where it is damaged."""
    if not (folder / RANKS).exists():
        return None
    try:
        return made(RankGroups, read_json(folder, RANKS), RANKS)
    except NotThat as error:
        raise DumpError(f"{folder / RANKS} is damaged: {error}") from error
