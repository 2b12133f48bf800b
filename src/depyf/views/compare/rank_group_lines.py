"""The groups of ranks and their waits, in words.

Input: ``RankGroups``.  Output: lines for a terminal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from depyf.run.causes.folding import counted
from depyf.run.rank_groups import FirstDifference, RankGroup, RankGroups, RankWait

_MOST_WAITS = 5
_MOST_RUNS = 12


def group_lines(found: RankGroups) -> list[str]:
    """The lines about groups of ranks: which are equal, where others begin to differ, and who was late."""
    return list(_lines(found))


def _lines(found: RankGroups) -> Iterator[str]:
    if len(found.groups) < 2:
        yield f"All {found.count} ranks have the same graphs and guards, devices apart."
    else:
        yield f"{found.count} ranks in {len(found.groups)} groups with the same graphs and guards, devices apart:"
    for group in found.groups if len(found.groups) > 1 else ():
        yield f"- {ranks_in_words(group.ranks)}: {group_in_words(group)}"
    if found.apart:
        yield apart_in_words(found.apart)
    if found.waits:
        yield "Who was late (as the clocks of the hosts tell):"
    for wait in sorted(found.waits, key=lambda wait: -wait.seconds)[:_MOST_WAITS]:
        yield f"- {wait_in_words(wait)}"
    if len(found.waits) > _MOST_WAITS:
        yield f"- and {counted(len(found.waits) - _MOST_WAITS, 'compilation')} more"


def group_in_words(group: RankGroup) -> str:
    """``differs since 0/1, guards (line 812 of rank_7.log, line 810 of rank_0.log)``."""
    if group.since is None:
        return "the most" if len(group.ranks) > 1 else "the first of those that are alone"
    verb = "differs" if len(group.ranks) == 1 else "differ"
    return f"{verb} since {since_in_words(group.since)}"


def since_in_words(since: FirstDifference) -> str:
    """The first record that differs, and its lines in both logs."""
    logs = [(since.line, since.log), (since.other_line, since.other_log)]
    lines = ", ".join(f"line {line} of {log}" for line, log in logs if line)
    return f"{since.id}, {since.what} ({lines})"


def apart_in_words(seconds: float) -> str:
    """The sentence that logs which begin ``seconds`` apart do not tell which rank was late."""
    long = f"{seconds / 86400:.0f} days" if seconds > 2 * 86400 else f"{seconds / 3600:.1f} hours"
    return f"The logs begin {long} apart: they are of several runs, or the clocks differ. Who was late is not told."


def wait_in_words(wait: RankWait) -> str:
    """``0/1 of f: rank 7 ended last; the others waited up to 4.0 s, half of them 3.9 s or more; ...``."""
    own = f"; {wait.own:.1f} s of it in this compilation" if wait.own >= 0.1 else "; it was late before"
    of = f" of {wait.function}" if wait.function else ""
    return (
        f"{wait.id}{of}: rank {wait.last} ended last, others had waited up to {wait.seconds:.1f} s, half of them "
        f"{wait.typical:.1f} s or more{own}"
    )


def ranks_in_words(ranks: Sequence[int]) -> str:
    """``ranks 0-6, 8-511``; of many runs the first ones."""
    runs = list(_runs(ranks))
    shown = [str(first) if first == last else f"{first}-{last}" for first, last in runs[:_MOST_RUNS]]
    left = sum(last - first + 1 for first, last in runs[_MOST_RUNS:])
    more = f" and {left} more" if left else ""
    return f"rank{'s' * (len(ranks) > 1)} {', '.join(shown)}{more}"


def _runs(ranks: Iterable[int]) -> Iterator[tuple[int, int]]:
    first = last = -2
    for rank in sorted(ranks):
        if rank != last + 1:
            if last >= 0:
                yield first, last
            first = rank
        last = rank
    if last >= 0:
        yield first, last
