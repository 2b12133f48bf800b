"""A compiled call that did not do what Python does: above everything else that a run shows.

Input: the checked calls of a run.  Output: an observation for each cache entry that differs; what was checked,
in words.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from depyf.run.causes.folding import counted
from depyf.run.observations.observation import Observation, ObservationKind
from depyf.run.program_calls.checked_calls import CheckedCalls
from depyf.run.run import Run


def compiled_differs(run: Run) -> Iterator[Observation]:
    """In the order in which they were called first."""
    for checked in run.checked:
        if checked.apart:
            ways = checked.ways or (f"print(depyf.compare({checked.function}, ...)) with the arguments of that call",)
            cost = f"call {checked.differed_at} that this entry served; {counted(checked.checked, 'call')} compared"
            yield Observation(
                ObservationKind.DIFFERENT,
                checked.place,
                f"the compiled `{checked.function}` does not do what Python does",
                ways,
                cost=cost,
                leads=True,
                details=tuple(_details(checked)),
            )


def _details(checked: CheckedCalls) -> Iterator[str]:
    first = checked.apart[0]
    yield f"{first.path} is {first.compiled}, and Python gives {first.python}"
    if first.reason:
        yield first.reason
    more = len(checked.apart) - 1
    if more:
        yield f"{counted(more, 'more value differs', 'more values differ')}"
    yield from checked.causes


def checked_line(checked: Sequence[CheckedCalls]) -> str:
    """What was checked, and what came of it; "" where nothing was."""
    if not checked:
        return ""
    calls = counted(sum(one.checked for one in checked), "call")
    said = f"Compared with Python: {calls} of {counted(len(checked), 'cache entry', 'cache entries')}"
    different = sum(bool(one.apart) for one in checked)
    if different:
        return f"{said}, DIFFERENT in {different}."
    return f"{said}, the same." if any(one.checked for one in checked) else f"{said}: nothing could be compared."


def not_compared(checked: CheckedCalls) -> tuple[str, ...]:
    """What of the calls was not compared, a sentence each."""
    return tuple(f"not compared in `{checked.function}`: {text}" for text in checked.not_compared)
