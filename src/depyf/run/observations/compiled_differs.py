"""A compiled call that did not do what Python does: above everything else that a run shows.

Input: the checked calls of a run.  Output: an observation for each cache entry that differs; what was checked,
in words.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from depyf.run.causes.folding import counted
from depyf.run.observations.observation import Observation, ObservationKind
from depyf.run.places.place import Place
from depyf.run.program_calls.checked_calls import NOT_THE_SAME, THE_BACKWARD, THE_CALL, CheckedCalls
from depyf.run.run import Run


def compiled_differs(run: Run) -> Iterator[Observation]:
    """One observation for each compiled function that differed from Python, in the order of their first calls."""
    found: dict[tuple[Place, str], list[CheckedCalls]] = {}
    for checked in run.checked:
        if checked.apart:
            found.setdefault((checked.place, checked.function), []).append(checked)
    for (place, function), own in found.items():
        ways = own[0].ways or (f"print(depyf.compare({function}, ...)) with the arguments of that call",)
        of_it = [one for one in run.checked if (one.place, one.function) == (place, function)]
        compared, calls = sum(one.checked for one in of_it), sum(one.calls for one in of_it)
        yield Observation(
            ObservationKind.DIFFERENT,
            place,
            f"the compiled `{function}` does not do what Python does",
            ways,
            cost=f"call {own[0].differed_at} that its entry served; {compared} of {counted(calls, 'call')} compared",
            leads=True,
            details=tuple(_details(own)),
        )


def _details(own: Sequence[CheckedCalls]) -> Iterator[str]:
    first = own[0].apart[0]
    if first.path in (THE_CALL, THE_BACKWARD):
        yield f"{first.path} {first.compiled}; as Python it {first.python}"
    else:
        yield f"{first.path} is {first.compiled}, and Python gives {first.python}"
    if first.reason and first.reason != NOT_THE_SAME:
        yield first.reason
    more = len(own[0].apart) - 1
    if more:
        yield counted(more, "more value differs", "more values differ")
    yield from own[0].causes
    if len(own) > 1:
        yield f"{counted(len(own) - 1, 'more cache entry differs', 'more cache entries differ')}"


def checked_line(checked: Sequence[CheckedCalls]) -> str:
    """What was checked, and what came of it; "" where nothing was."""
    if not checked:
        return ""
    seen, left = ([one for one in checked if (one.checked > 0) is compared] for compared in (True, False))
    of = seen or left
    calls, entries = counted(_calls(of), "call"), counted(len(of), "cache entry", "cache entries")
    said = f"Compared with Python: {sum(one.checked for one in of)} of {calls} of {entries}"
    reasons = dict.fromkeys(reason for one in left for reason in one.not_compared)
    why = f" ({'; '.join(reasons)})" if reasons else ""
    if not seen:
        return f"{said}: nothing could be compared{why}."
    different = sum(bool(one.apart) for one in seen)
    said += f", DIFFERENT in {different}" if different else ", the same"
    if left:
        others = counted(len(left), "other cache entry", "other cache entries")
        said += f"; nothing could be compared of {counted(_calls(left), 'call')} of {others}{why}"
    return f"{said}."


def _calls(checked: Sequence[CheckedCalls]) -> int:
    return sum(one.calls for one in checked)


def not_compared(checked: CheckedCalls) -> tuple[str, ...]:
    """What of the calls was not compared, a sentence each."""
    return tuple(f"not compared in `{checked.function}`: {text}" for text in checked.not_compared)
