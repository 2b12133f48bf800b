"""An observation: something to change that made no recompilation, no graph break and no ordinary Python.

Input: nothing.  Output invariant: strings, numbers and records, no seconds: the same run makes the same observations.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any

from depyf.run.places.place import Place
from depyf.run.records import CompileKey


class ObservationKind(enum.Enum):
    """The kinds of observation."""

    DIFFERENT = "different from Python"
    """A compiled call did something else than Python does."""
    ENDED = "ended by an error"
    """An exception ended the program."""
    NEVER_CALLED = "never called"
    """What torch.compile returned was not called."""
    UNROLLED = "unrolled loop"
    """A graph has many copies of one line."""
    NOTHING_COMPILED = "nothing compiled"
    """Why a run has no compilation."""
    PASSED_OVER = "passed over"
    """A module of torch's own that was compiled in place."""
    EXPORT = "failed export"
    """``torch.export`` ended with an error."""
    MODE = "mode"
    """A mode of torch.compile that changes nothing here."""
    NOT_FUSED = "not fused"
    """Two kernels that move the same memory."""
    FALLBACK = "fallback"
    """An operator that runs as eager's kernel."""
    COPY = "copy"
    """A kernel that computes nothing."""
    CUDA_GRAPHS = "CUDA graphs skipped"
    """torch was to make CUDA graphs, and did not."""
    CACHE = "cache"
    """A cache of torch was bypassed."""


@dataclass(frozen=True, slots=True)
class Observation:
    """One finding about the run that is no cause of recompilations or breaks."""

    kind: ObservationKind
    place: Place | None
    """The program's line."""
    text: str
    """One sentence: what was found."""
    ways: tuple[str, ...] = ()
    """What the program can change, the best first."""
    entries: tuple[CompileKey, ...] = ()
    """The compilations that it is about."""
    cost: str = ""
    """What it costs, without seconds."""
    leads: bool = False
    """It stands before the causes: results are wrong, or it takes most of the compiling."""
    details: tuple[str, ...] = ()
    """More of it, a sentence each."""
    of_calls: bool = False
    """It tells what each call costs: nothing went wrong, and there may be nothing to change."""

    def to_json(self) -> dict[str, Any]:
        """Plain data, as it stands in the manifest."""
        place = self.place
        return {
            "kind": self.kind.value,
            "at": f"{place.filename}:{place.line}" if place is not None else "",
            "line": place.text if place is not None else "",
            "text": self.text,
            "details": list(self.details),
            "ways": list(self.ways),
            "cost": self.cost,
            "compile_ids": [{"compile_id": key.text, "generation": key.generation} for key in self.entries],
        }
