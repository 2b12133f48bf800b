"""An exception or an exit status that ended the program, or left the block that was recorded.

Input: a run.  Output: one observation, before all causes; none where a compilation that failed says the same.
"""

from __future__ import annotations

from collections.abc import Iterator

from depyf.run.observations.observation import Observation, ObservationKind
from depyf.run.program_calls.program_error import ProgramError, RaisedIn
from depyf.run.run import Run

_GRADIENT = "gradient-outside"
"""The advice for a call of ``torch.autograd.grad``."""


def ended_before(run: Run) -> bool:
    """Whether an exception ended the run before it was through.  An exit status is one where nothing was compiled: many
    programs tell with it how they went, at their end."""
    error = run.ended_by
    return error is not None and not (error.status and run.compilations)


def ended_by_error(run: Run) -> Iterator[Observation]:
    """At most one observation: the uncaught error that ended the program or the recorded block."""
    error = run.ended_by
    if error is None or not ended_before(run) or (error.raised_in is RaisedIn.COMPILING and run.errors):
        return
    ended = "the program ended here" if run.from_start else "the recorded block ended here"
    if error.double_backward:
        text = f"{ended}: a compiled function has no backward of its backward (double backward)"
    elif error.status:
        text = f"{ended} with exit status {error.status}{f': {error.text}' if error.text else ''}"
    else:
        text = f"{ended}: {error.text}"
    yield Observation(ObservationKind.ENDED, error.place, text, _ways(error, run), leads=True)


def _ways(error: ProgramError, run: Run) -> tuple[str, ...]:
    if error.double_backward:
        return (f"{_disable(run)}: what is differentiated twice then runs as ordinary Python",)
    if error.raised_in is RaisedIn.PROGRAM:
        return ()
    same = "see whether the error comes without torch.compile, too: TORCH_COMPILE_DISABLE=1 in the environment"
    if error.raised_in is RaisedIn.COMPILED:
        return (same,)
    return (same, 'compile with backend="aot_eager", and with "eager": the first that works names the stage that fails')


def _disable(run: Run) -> str:
    """Which function calls ``torch.autograd.grad``: a graph break names it."""
    asks = [one.record.place for one in run.breaks if any(use.id == _GRADIENT for use in one.record.advice)]
    names = dict.fromkeys(place.function for place in asks if place is not None and place.function)
    named = " and ".join(f"`{name}`" for name in names) or "what calls torch.autograd.grad(..., create_graph=True)"
    return f"put @torch.compiler.disable on {named}"
