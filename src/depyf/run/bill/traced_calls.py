"""What Dynamo spent on the functions that it traced into, and on the lines that call them.

Input: the calls that were traced, of one compilation each.  Output: seconds by line, the most expensive first.  They
are other ones in every run, so they stand in ``timings.json`` and in no page that has to be the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise


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


def traced_lines(trees: Iterable[Sequence[TracedCall]]) -> tuple[TracedLine, ...]:
    """Each line once, a line that calls itself again counted at its outermost call only."""
    found: dict[tuple[str, int], TracedLine] = {}
    most: dict[tuple[str, int], float] = {}
    for tree in trees:
        for call, callers in _with_callers(tree):
            if not callers:
                continue
            key = callers[-1].file, call.at
            if any((above.file, below.at) == key for above, below in pairwise(callers)):
                continue
            known = found.get(key) or TracedLine(*key, callers[-1].function, 0, 0.0, call.function)
            called = call.function if call.seconds > most.get(key, -1.0) else known.called
            most[key] = max(most.get(key, -1.0), call.seconds)
            found[key] = replace(
                known, calls=known.calls + call.calls, seconds=round(known.seconds + call.seconds, 6), called=called
            )
    return tuple(sorted(found.values(), key=lambda line: (-line.seconds, line.file, line.line)))


def _with_callers(tree: Sequence[TracedCall]) -> Iterator[tuple[TracedCall, list[TracedCall]]]:
    above: list[TracedCall] = []
    for call in tree:
        del above[call.depth :]
        yield call, list(above)
        above.append(call)
