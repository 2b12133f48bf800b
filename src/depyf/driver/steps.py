"""The artifact of each pass in turn, for ``depyf dump`` and the tests of the invariants."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from depyf.bytecode.codeunit import CodeUnit
from depyf.driver.decompilation import Decompilation
from depyf.driver.one_pass import Pass
from depyf.driver.rungs import LADDER, Attempt
from depyf.driver.state import State
from depyf.safety.depth import with_room


def trace_passes(unit: CodeUnit, attempt: Attempt = LADDER[0]) -> Iterator[tuple[Pass, Any]]:
    """Each pass that has anything to do for ``unit``, with what it made or changed; its invariant is checked.

    Code nested in ``unit`` goes down the ordinary ladder.  Raises InvariantError, and what a pass raises that cannot go on.
    """
    state = State(unit, Decompilation().body, attempt.promises)

    def run(step: Pass) -> object:
        step.run(state)
        step.check(state)
        return step.result(state)

    for step in attempt.rung.passes:
        if step.when(state):
            yield step, with_room(lambda step=step: run(step))  # type: ignore[misc]
