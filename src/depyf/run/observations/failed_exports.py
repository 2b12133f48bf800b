"""A call of ``torch.export`` that ended with an error.

Input: a run.  Output: an observation for each, at the line that the error is about.
"""

from __future__ import annotations

from collections.abc import Iterator

from depyf.run.observations.observation import Observation, ObservationKind
from depyf.run.program_calls.compile_calls import FailedExport
from depyf.run.run import Run

_BRANCHES = ("if ", "elif ", "while ", "assert ")


def failed_exports(run: Run) -> Iterator[Observation]:
    """One observation for each failed call of ``torch.export``, in order."""
    for failed in run.failed_exports:
        place = failed.error_at or failed.place
        text = f"torch.export fails here: {failed.error}"
        if failed.error_at is not None:
            text += f" (called at line {failed.place.line})"
        yield Observation(ObservationKind.EXPORT, place, text, _ways(failed))


def _ways(failed: FailedExport) -> tuple[str, ...]:
    ways = tuple(f"as torch suggests: {fix}" for fix in failed.fixes)
    line = failed.error_at.text if failed.error_at is not None else ""
    if failed.on_values:
        if line.startswith(_BRANCHES):
            return (*ways, "torch.cond, or torch.where, in the place of the branch: a graph holds both sides")
        return (*ways, "torch._check(...) tells the exporter what is true of the value")
    return ways
