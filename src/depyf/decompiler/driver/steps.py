"""The artifact of each pass in turn, with the rewrites of the pass: for ``depyf passes`` and tests of invariants."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.bytecode.variables.told_apart import told_apart
from depyf.decompiler.driver.decompilation import Decompilation
from depyf.decompiler.driver.one_pass import Pass
from depyf.decompiler.driver.pass_runner import run_passes
from depyf.decompiler.driver.rungs import LADDER, Attempt
from depyf.decompiler.driver.state import State
from depyf.decompiler.generated.contract import NO_CONTRACT
from depyf.decompiler.ir.stmt import Body
from depyf.safety.depth import with_room
from depyf.safety.rewrites import heard_by


@dataclass(frozen=True, slots=True)
class Rewrite:
    """One rewrite inside a pass: what it does, and what it has made (a statement, an expression, the number of an
    instruction)."""

    name: str
    made: object


@dataclass(frozen=True, slots=True)
class Trace:
    """One pass that had something to do: what it made or changed, and its rewrites in their order.

    ``stopped``: it was stopped after the last of these.  The artifact is what that has left then, or, where a pass
    makes a new one, what the pass was given.
    """

    step: Pass
    artifact: Any
    rewrites: tuple[Rewrite, ...]
    stopped: bool = False


class _Stopped(Exception):
    """Ends a pass after one of its rewrites."""


def trace_passes(unit: CodeUnit, attempt: Attempt = LADDER[0], stop: tuple[str, int] | None = None) -> Iterator[Trace]:
    """Each pass that has anything to do for ``unit``; its invariant is checked.

    Code nested in ``unit`` goes down the ordinary ladder, and its rewrites are not told of.  ``stop`` is a pass and the
    number of the rewrite, from 1 on, after which it is stopped; that is the last trace then.  Raises InvariantError,
    and what a pass raises that cannot go on.
    """
    unit = told_apart(unit, generated=attempt.promises is not NO_CONTRACT)
    state = State(unit, partial(_unheard, Decompilation()), attempt.promises)

    def perform(step: Pass, state: State) -> Trace | None:
        limit = stop[1] if stop is not None and stop[0] == step.name else 0
        return with_room(partial(_traced, step, state, limit))

    for trace in run_passes(attempt.rung.passes, [state], perform):
        yield trace
        if trace.stopped:
            return


def _traced(step: Pass, state: State, limit: int) -> Trace | None:
    """Run a pass up to its rewrite number ``limit``; None where it has nothing to do."""
    rewrites: list[Rewrite] = []

    def hear(name: str, made: object) -> None:
        rewrites.append(Rewrite(name, made))
        if len(rewrites) == limit:
            raise _Stopped

    try:
        with heard_by(hear):
            if not step.perform(state, check=True):
                return None
    except _Stopped:
        return Trace(step, _as_left(state, step), tuple(rewrites), True)
    return Trace(step, step.result(state), tuple(rewrites))


def _as_left(state: State, step: Pass) -> Any:
    """What a pass that was stopped has changed: the artifact, or the instruction graph that it is made of."""
    try:
        return step.result(state)
    except AttributeError:  # it is set at the end of the pass
        return state.program


def _unheard(work: Decompilation, unit: CodeUnit, expression: bool) -> Body:
    with heard_by(None):
        return work.body(unit, expression)
