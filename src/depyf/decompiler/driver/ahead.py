"""Decompiles nested code before the code around it asks for it, many code objects at a time.

Each pass runs over all of them before the next pass begins.  The passes together are far more code than the first
caches of a processor hold, and most code objects are small: one by one, each would fetch all of it again.
"""

from __future__ import annotations

from collections.abc import Callable

from depyf.decompiler.bytecode.codeunit import CodeUnit, nested_units, units
from depyf.decompiler.driver.one_pass import Pass
from depyf.decompiler.driver.pass_runner import run_all
from depyf.decompiler.driver.state import State
from depyf.decompiler.ir.stmt import Body
from depyf.errors import DepyfError
from depyf.safety.budget import Budget, TooMuchWork, steps_of_part
from depyf.safety.depth import budget_of_work, part_of_work

AT_A_TIME = 32
"""Code objects: enough to share what is fetched, few enough for what belongs to each of them to stay in the caches."""
BUGS = (LookupError, TypeError, ValueError, AttributeError, AssertionError)
"""Errors that mean a bug of depyf, which in one code object must not affect the others."""


def decompile_ahead(
    outer: CodeUnit,
    passes: tuple[Pass, ...],
    begin: Callable[[CodeUnit], State | None],
    ready: dict[int, Body],
    *,
    check: bool = False,
    on_bug: Callable[[CodeUnit, Exception], None] | None = None,
) -> None:
    """Put into ``ready``, by id, what ``passes`` make of the code nested in ``outer``, the innermost first.

    ``begin`` makes the state of each, or None to leave it out; what the passes ask of the code nested in it is in
    ``ready`` by then.  Code with which anything fails is left out, as if nothing had been done with it: decompiled by
    itself it fails again, and says why.  ``check``: the invariants are checked after each pass.  ``on_bug`` is told of
    internal errors.
    """
    budget = budget_of_work()
    for level in _levels(outer):
        for first in range(0, len(level), AT_A_TIME):
            states = [state for unit in level[first : first + AT_A_TIME] if (state := begin(unit)) is not None]
            size = sum([len(state.unit.code) for state in states])
            with part_of_work(outer.qualname, size):
                together = _Together(states, budget, check, on_bug)
                done = together.run(passes)
            for state in done:
                ready[id(state.unit)] = state.body
            if together.too_much:
                return


def _levels(outer: CodeUnit) -> list[list[CodeUnit]]:
    """The code nested in ``outer``, by how deep other code nests in it."""
    levels: list[list[CodeUnit]] = []
    heights: dict[int, int] = {}
    for unit in reversed(list(units(outer))[1:]):  # what is nested in it was before it
        if id(unit) not in heights:
            height = max([heights[id(inner)] + 1 for inner in nested_units(unit)], default=0)
            heights[id(unit)] = height
            levels.extend([] for _ in range(height + 1 - len(levels)))
            levels[height].append(unit)
    for level in levels:
        level.reverse()
    return levels


class _Together:
    """Code objects of which one may fail without an effect on the others.

    ``too_much``: one of them took too much work.
    """

    def __init__(
        self, states: list[State], budget: Budget, check: bool, on_bug: Callable[[CodeUnit, Exception], None] | None
    ) -> None:
        self.states = states
        self.too_much = False
        self._check = check
        self._on_bug = on_bug
        self._budget = budget
        self._allowed = {id(state): steps_of_part(len(state.unit.code)) for state in states}

    def run(self, passes: tuple[Pass, ...]) -> list[State]:
        """Those with which all went well.  What the others took is given back to the budget."""
        run_all(passes, self.states, self._perform)
        self._budget.left += sum([state.steps for state in self.states if state.failed])
        return [state for state in self.states if not state.failed]

    def _perform(self, step: Pass, state: State) -> None:
        before = self._budget.left
        try:
            step.perform(state, check=self._check)
        except TooMuchWork:
            state.failed = self.too_much = True
        except (DepyfError, RecursionError):
            state.failed = True
        except BUGS as bug:
            state.failed = True
            if self._on_bug is not None:
                self._on_bug(state.unit, bug)
        state.steps += before - self._budget.left
        if state.steps > self._allowed[id(state)]:
            state.failed = self.too_much = True
