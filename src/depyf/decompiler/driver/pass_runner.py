"""The one runner of lists of passes: each pass over all code objects before the next pass.

Input: a list of ``rungs.py``, states that nothing ran on yet, and how a pass is run on one of them.  Three modules use
it: ``decompilation.py`` for one code object on its rung, ``ahead.py`` for many at a time, in each of which something
may fail alone, and ``steps.py`` for one whose artifacts and rewrites are shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from depyf.decompiler.driver.one_pass import Pass
from depyf.decompiler.driver.state import State

_Outcome = TypeVar("_Outcome")


def run_passes(
    passes: tuple[Pass, ...], states: list[State], perform: Callable[[Pass, State], _Outcome | None]
) -> Iterator[_Outcome]:
    """Run each pass over ``states``, as ``perform`` does; yields what that returns, after each pass, where it is not
    None.

    The next pass may change what the one before it made: a caller that shows it does so before it goes on.  A state
    that has ``failed`` is left alone from then on.  What ``perform`` raises ends the run.
    """
    for step in passes:
        for state in step.among(states):
            if not state.failed:
                outcome = perform(step, state)
                if outcome is not None:
                    yield outcome


def run_all(passes: tuple[Pass, ...], states: list[State], perform: Callable[[Pass, State], object]) -> None:
    """``run_passes`` where nothing is to be seen between the passes."""
    for _ in run_passes(passes, states, perform):
        pass
