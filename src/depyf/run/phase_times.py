"""When each phase of a compilation began, and how long it took: what a waterfall shows.

Input: the events by which torch marks the begin and the end of a phase (``chromium_event``), as they come.  Output: a
``PhaseTime`` for each phase that has ended.  Seconds differ in every run, so they go to ``timings.json`` alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

SHORTEST = 0.0002
"""Seconds; shorter phases are not kept: they are too short to be seen, and most phases are."""
_DEEPEST = 200
"""Phases that have begun and not ended, in one thread: more are those that an exception has cut."""


@dataclass(frozen=True, slots=True, order=True)
class PhaseTime:
    """The duration of one phase of a compilation."""

    start: float
    """Seconds after the recording began."""
    seconds: float
    name: str
    """As torch calls it: ``backend_compile``."""
    thread: int = 0
    """Which thread, counted in the order in which they came by."""


def compile_id_of(event: Mapping[str, Any]) -> str:
    """The compile id in an event of torch; "" for none."""
    arguments = event.get("args")
    found = arguments.get("compile_id") if isinstance(arguments, Mapping) else None
    return found if isinstance(found, str) and found != "None" else ""


class PhaseClock:
    """Pairs the begin and end events of phases, separately for each thread."""

    def __init__(self, began: float) -> None:
        self.began = began
        """Seconds since the epoch, as in torch's events."""
        self._open: dict[int, list[tuple[str, float]]] = {}
        self._threads: dict[int, int] = {}

    def open_in(self, thread: int) -> int:
        """How many phases have begun in the thread, and not ended."""
        return len(self._open.get(thread, ()))

    def take(self, event: Mapping[str, Any], thread: int) -> tuple[str, PhaseTime] | None:
        """The compile id ("" for none) and the phase that ``event`` ends; None for any other event, and for short
        phases."""
        name, mark, microseconds = event.get("name"), event.get("ph"), event.get("ts")
        if not isinstance(name, str) or not isinstance(microseconds, (int, float)):
            return None
        if mark == "B":
            begun = self._open.setdefault(thread, [])
            begun.append((name, microseconds))
            del begun[:-_DEEPEST]
            return None
        begin = self._begin(name, thread) if mark == "E" else None
        if begin is None or microseconds - begin < SHORTEST * 1e6:
            return None
        number = self._threads.setdefault(thread, len(self._threads))
        start = round(begin / 1e6 - self.began, 6)
        phase = PhaseTime(start, round((microseconds - begin) / 1e6, 6), name, number)
        return compile_id_of(event), phase

    def _begin(self, name: str, thread: int) -> float | None:
        """When the phase that ends now began; what began in it and has not ended was cut by an exception."""
        begun = self._open.get(thread, [])
        for place in range(len(begun) - 1, -1, -1):
            if begun[place][0] == name:
                microseconds = begun[place][1]
                del begun[place:]
                return microseconds
        return None
