"""The ranks of a run whose logs are there, grouped by what they tell; a pool of processes reads them.

Input: logs by rank.  Output: ``RankGroups``, and the ranks of which a dump is worth making: one of each group.  Memory
grows with the compilations of a rank, not with the logs.
"""

from __future__ import annotations

import os
import statistics
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import Executor

from depyf.run.rank_groups import FirstDifference, RankGroup, RankGroups, RankWait
from depyf.sources.trace_log.log_files import LogFile
from depyf.sources.trace_log.rank_digest import COMPARED, CompilationDigest, RankDigest, rank_digest

MOST_SHOWN = 8
"""Ranks of which a dump is made."""
_MOST_WAITS = 50
_OF_ONE_RUN = 1800.0
"""Seconds after which a rank that waits for another one has given up: torch's longest time limit of collectives."""
_WORTH_TELLING = 0.5
"""Seconds that a rank waits."""


def processes_for(count: int) -> int:
    """The number of processes with which to read ``count`` logs."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(count, cores))


def grouped(logs: Mapping[int, LogFile], pool: Executor) -> tuple[RankGroups, tuple[int, ...]]:
    """The groups, and the ranks that are shown, in order: all where there are few."""
    ranks = list(logs)
    members: dict[bytes, list[int]] = {}
    firsts: dict[bytes, RankDigest] = {}
    times: dict[str, dict[int, tuple[float, float]]] = {}
    functions: dict[str, str] = {}
    begins: list[float] = []
    chunk = max(1, len(ranks) // (4 * processes_for(len(ranks))))
    for digest in pool.map(rank_digest, ranks, map(logs.__getitem__, ranks), chunksize=chunk):
        checksum = digest.checksum
        members.setdefault(checksum, []).append(digest.rank)
        firsts.setdefault(checksum, digest)
        begins += [one.began for one in digest.compilations.values() if one.began][:1]
        for name, one in digest.compilations.items():
            functions.setdefault(name, one.function)
            if one.began and one.ended:
                times.setdefault(name, {})[digest.rank] = one.began, one.ended
    order = sorted(members, key=lambda checksum: (-len(members[checksum]), members[checksum]))
    few = len(ranks) <= MOST_SHOWN
    shown = ranks if few else sorted(members[checksum][0] for checksum in order[:MOST_SHOWN])
    groups = tuple(
        RankGroup(
            tuple(members[one]), members[one][0] in shown,
            first_difference(firsts[order[0]], firsts[one]) if one != order[0] else None,
        )
        for one in order
    )  # fmt: skip
    apart = max(begins, default=0.0) - min(begins, default=0.0)
    if apart > _OF_ONE_RUN:
        return RankGroups(len(ranks), groups, apart=round(apart, 3)), tuple(shown)
    return RankGroups(len(ranks), groups, _waits(times, functions, len(ranks))), tuple(shown)


def first_difference(usual: RankDigest, other: RankDigest) -> FirstDifference | None:
    """The first record of the usual rank that the other rank lacks or has with other content; None for none."""
    for name, mine in usual.compilations.items():
        theirs = other.compilations.get(name, CompilationDigest())
        for at, kind in enumerate(mine.kinds):
            if at >= len(theirs.kinds) or (kind, mine.checksum(at)) != (theirs.kinds[at], theirs.checksum(at)):
                lacks = at >= len(theirs.kinds)
                said = f"{COMPARED[kind]}, which it lacks" if lacks else _otherwise(kind, theirs.kinds[at])
                line = 0 if lacks else theirs.lines[at]
                return FirstDifference(name, said, line, other.log, mine.lines[at], usual.log)
        if len(theirs.kinds) > len(mine.kinds):
            at = len(mine.kinds)
            return FirstDifference(
                name, f"{COMPARED[theirs.kinds[at]]}, more", theirs.lines[at], other.log, 0, usual.log
            )
    for name, theirs in other.compilations.items():
        if name not in usual.compilations and theirs.kinds:
            said = f"{COMPARED[theirs.kinds[0]]}, more"
            return FirstDifference(name, said, theirs.lines[0], other.log, 0, usual.log)
    return None


def _otherwise(kind: str, other: str) -> str:
    return COMPARED[kind] if kind == other else f"{COMPARED[other]} in the place of {COMPARED[kind]}"


def _waits(
    times: Mapping[str, Mapping[int, tuple[float, float]]], functions: Mapping[str, str], count: int
) -> tuple[RankWait, ...]:
    """The compilations in whose end the ranks are far apart; those that half of the ranks lack tell nothing."""
    found = list(_each_wait(times, functions, count))
    longest = sorted(found, key=lambda wait: -wait.seconds)[:_MOST_WAITS]
    return tuple(wait for wait in found if wait in longest)


def _each_wait(
    times: Mapping[str, Mapping[int, tuple[float, float]]], functions: Mapping[str, str], count: int
) -> Iterator[RankWait]:
    for name, of_ranks in times.items():
        ends = {rank: ended for rank, (_, ended) in of_ranks.items()}
        if len(ends) < 2 or len(ends) * 2 < count:
            continue
        last = max(ends, key=lambda rank: (ends[rank], -rank))
        waits = [ends[last] - ended for rank, ended in ends.items() if rank != last]
        if max(waits) < _WORTH_TELLING:
            continue
        took = {rank: ended - began for rank, (began, ended) in of_ranks.items()}
        own = took[last] - statistics.median(took.values())
        yield RankWait(
            name, functions[name], last, round(max(waits), 3), round(statistics.median(waits), 3), round(own, 3)
        )


def often_last(waits: tuple[RankWait, ...]) -> list[tuple[int, int]]:
    """The ranks that were last most often, with how often."""
    return Counter(wait.last for wait in waits).most_common(3)
