"""The time that Dynamo spent on the functions it traced into, by function and by calling line.

Input: the calls that were traced, of one compilation each.  Output: seconds by line, the most expensive first.  They
are other ones in every run, so they stand in ``timings.json`` and in no page that has to be the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

_NEARLY_ALL, _MOST_OF_IT = 0.9, 0.6


@dataclass(frozen=True, slots=True)
class TracedCall:
    """A function that Dynamo traced into, from one line of its caller; calls from the same line are one."""

    depth: int
    """0: the function that is compiled; of a list of calls each stands in the last one before it that is less deep."""
    function: str
    file: str
    line: int
    """In which its code begins."""
    at: int = 0
    """The line of the caller."""
    calls: int = 1
    seconds: float = 0.0
    """Of all these calls, with what they call."""


@dataclass(frozen=True, slots=True)
class TracedLine:
    """A line that calls what was traced."""

    file: str
    line: int
    function: str
    """What the line stands in."""
    calls: int
    seconds: float
    called: str
    """The function that took most of it."""
    into: str
    """Its file."""
    passed_on: float = 0.0
    """Seconds of the one line in each called function that took most."""
    repeated: bool = False
    """A loop calls it."""

    def leads_there(self, whole: float) -> bool:
        """Whether the line only leads to the costly one.  It is in no loop, and has most of ``whole`` (the seconds of
        all tracing) or passes nearly all of its time to one line, as a wrapper does."""
        return not self.repeated and (
            self.seconds >= _MOST_OF_IT * whole or self.passed_on >= _NEARLY_ALL * self.seconds
        )


def traced_lines(trees: Iterable[Sequence[TracedCall]]) -> tuple[TracedLine, ...]:
    """Each line once, a line that calls itself again counted at its outermost call only."""
    found: dict[tuple[str, int], TracedLine] = {}
    most: dict[tuple[str, int], float] = {}
    for tree in trees:
        passed = _passed_on(tree)
        for number, (call, callers) in enumerate(_with_callers(tree)):
            if not callers:
                continue
            key = callers[-1].file, call.at
            if any((above.file, below.at) == key for above, below in pairwise(callers)):
                continue
            repeated = call.calls > callers[-1].calls  # by a loop, which is worth telling
            known = found.get(key) or TracedLine(*key, callers[-1].function, 0, 0.0, call.function, call.file)
            larger = call.seconds > most.get(key, -1.0)
            most[key] = max(most.get(key, -1.0), call.seconds)
            found[key] = replace(
                known,
                calls=known.calls + call.calls,
                seconds=round(known.seconds + call.seconds, 6),
                called=call.function if larger else known.called,
                into=call.file if larger else known.into,
                passed_on=round(known.passed_on + passed[number], 6),
                repeated=known.repeated or repeated,
            )
    return tuple(sorted(found.values(), key=lambda line: (-line.seconds, line.file, line.line)))


def _passed_on(tree: Sequence[TracedCall]) -> list[float]:
    """For each call the seconds of the line in the called function that took most; 0 for one that calls nothing."""
    by_line: list[dict[int, float]] = [{} for _ in tree]
    above: list[int] = []
    for number, call in enumerate(tree):
        del above[call.depth :]
        if above:
            lines = by_line[above[-1]]
            lines[call.at] = lines.get(call.at, 0.0) + call.seconds
        above.append(number)
    return [max(lines.values(), default=0.0) for lines in by_line]


def _with_callers(tree: Sequence[TracedCall]) -> Iterator[tuple[TracedCall, list[TracedCall]]]:
    above: list[TracedCall] = []
    for call in tree:
        del above[call.depth :]
        yield call, list(above)
        above.append(call)
