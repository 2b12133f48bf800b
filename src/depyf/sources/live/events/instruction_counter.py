"""How many instructions of the processor a thread runs while torch compiles: what grows as compile time does, and is
nearly the same in every run.

Input: how many phases of torch are open in a thread, each time that one begins or ends.  Output: a number each time
that the last one ends.  What is counted: instructions in user mode, of the thread that compiles; not of the processes
that Inductor starts.

Source: ``torch/csrc/instruction_counter/Module.cpp`` (``perf_event_open``, ``PERF_COUNT_HW_INSTRUCTIONS``).
"""

from __future__ import annotations

import sys
from typing import Any

from depyf.sources.live.pure_access import attribute

_CLOSED = -1
"""torch's number for a counter that could not be opened."""


class InstructionCounter:
    """Counts with torch's own counter.  Where it cannot be opened (not Linux, a virtual machine without one, not
    allowed), which is tried once, nothing is counted."""

    def __init__(self) -> None:
        self._refused = False
        self._running: dict[int, tuple[Any, int]] = {}
        """Thread -> its counter, and torch's number for it."""

    def take(self, thread: int, phases: int) -> int | None:
        """The instructions since the first of the phases of ``thread`` began; None unless the last one ended now.
        ``thread`` calls it; ``phases``: how many have begun and not ended."""
        if phases:
            if thread not in self._running and not self._refused:
                self._start(thread)
            return None
        counter, number = self._running.pop(thread, (None, _CLOSED))
        return None if counter is None else int(counter.end(number))

    def _start(self, thread: int) -> None:
        counter = attribute(sys.modules.get("torch._C"), "_instruction_counter")
        try:
            number = _CLOSED if counter is None else counter.start()
        except RuntimeError:  # torch: this is not Linux
            number = _CLOSED
        if number == _CLOSED:
            self._refused = True
        else:
            self._running[thread] = counter, number
