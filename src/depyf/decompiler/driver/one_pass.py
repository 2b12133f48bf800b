"""What a pass is: a change of the state, with its reason and what has to run before it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from depyf.decompiler.driver.invariants import INVARIANTS
from depyf.decompiler.driver.state import State


@dataclass(frozen=True, slots=True)
class Pass:
    """One pass: a function on the state, and what ``pass_runner.py`` and ``rungs.validate`` have to know of it.

    ``shows`` is the artifact that it changes.  ``why`` says what it is for and why it stands where it stands.
    ``after``: these passes run before it, where a list has them.  ``when``: run it only on these code objects.
    ``needs``: run it only if the code has one of these operations.
    """

    name: str
    run: Callable[[State], None]
    shows: str
    why: str
    after: tuple[str, ...] = ()
    when: Callable[[State], bool] | None = None
    needs: frozenset[str] = frozenset()

    def among(self, states: list[State]) -> list[State]:
        """Those of ``states`` in which an operation occurs that the pass needs; ``when`` may still say no."""
        needs = self.needs
        return [state for state in states if not needs.isdisjoint(state.operations)] if needs else states

    def perform(self, state: State, *, check: bool) -> bool:
        """Run the pass on one of ``among``, and ``check`` what it leaves; False where ``when`` says that it has nothing
        to do."""
        if self.when is not None and not self.when(state):
            return False
        self.run(state)
        if check:
            self.check(state)
        return True

    def check(self, state: State) -> None:
        """InvariantError if what the pass leaves is not what the next one expects."""
        if (invariant := INVARIANTS.get(self.shows)) is not None:
            invariant(self.result(state))

    def result(self, state: State) -> Any:
        """What the pass made or changed."""
        return getattr(state, "body" if self.shows == "printable" else self.shows)
