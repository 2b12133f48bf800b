"""What a pass is: a change of the state, with its reason and what has to run before it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from depyf.decompiler.driver.invariants import INVARIANTS
from depyf.decompiler.driver.state import State


@dataclass(frozen=True, slots=True)
class Pass:
    """One pass: ``why`` says what it is for and why it stands where it stands, ``after`` which others have to run before it
    where a list has them.  ``when`` says for which code objects it has anything to do, ``needs`` without which operations, of several
    at least one, it has nothing to do."""

    name: str
    run: Callable[[State], None]
    shows: str
    why: str
    after: tuple[str, ...] = ()
    when: Callable[[State], bool] | None = None
    needs: frozenset[str] = frozenset()

    def applies(self, state: State) -> bool:
        """Whether the pass has anything to do."""
        if self.needs and self.needs.isdisjoint(state.operations):
            return False
        return self.when is None or self.when(state)

    def among(self, states: list[State]) -> list[State]:
        """Those of ``states`` in which an operation occurs that it needs; ``when`` may still say no."""
        needs = self.needs
        return [state for state in states if not needs.isdisjoint(state.operations)] if needs else states

    def check(self, state: State) -> None:
        """InvariantError if what the pass leaves is not what the next one expects."""
        if (invariant := INVARIANTS.get(self.shows)) is not None:
            invariant(self.result(state))

    def result(self, state: State) -> Any:
        """What the pass made or changed."""
        return getattr(state, "body" if self.shows == "printable" else self.shows)
