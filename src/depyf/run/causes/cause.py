"""A cause of compilations, graph breaks, ordinary Python or failures: one thing to fix, however many events it made.

Input: nothing.  Output invariant: a cause holds only strings, numbers and records, no seconds and no addresses: the
same run makes the same causes.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any

from depyf.run.advice.advice import AdviceUse
from depyf.run.advice.registry import ADVICE
from depyf.run.causes.ways_out import WayOut
from depyf.run.places.place import Place
from depyf.run.records import CompileKey
from depyf.run.run import RawRecord


class CauseKind(enum.Enum):
    """The effect of the cause on torch: recompilation, graph break, and so on."""

    FAILED = "failed"
    """torch raised an error into the program instead of compiling."""
    RECOMPILES = "recompiles"
    """A function was compiled again because a guard did not hold."""
    BREAKS = "breaks"
    """A graph ended, and another began after it."""
    RAN_AS_PYTHON = "ran as Python"
    """A whole function, or the rest of one, ran as ordinary Python."""


@dataclass(frozen=True, slots=True)
class Costs:
    """What a cause costs, as far as it was recorded."""

    compilations: int = 0
    """Compilations that would not have been without it."""
    python: int = 0
    """Functions that ended as ordinary Python."""
    operations: int = 0
    """Operations that are in no graph then."""
    breaks: int = 0
    """Functions (rests of functions included) whose graph ends at it in each call."""


@dataclass(frozen=True, slots=True)
class Cause:
    """One thing to fix: why torch recompiled, broke a graph, failed or ran Python."""

    kind: CauseKind
    function: str
    """Qualified name of the program's function."""
    place: Place | None
    """The program's innermost line, with its text; None where torch named none."""
    asked: str
    """The operator or the guard that asked: ``Tensor.item``, ``self.calls == 3``."""
    module: str
    """Module path (``h.0.attn``); "" outside of modules."""
    entries: tuple[CompileKey, ...]
    """The compilations that it made, or that met it."""
    costs: Costs
    text: str
    """One sentence: what happened and why."""
    advice: tuple[AdviceUse, ...] = ()
    subject: str = ""
    """What makes it this cause among those of one line: the value that a guard reads, torch's reason of a break."""
    inside: Place | None = None
    """Where ``place`` is the program's call of a library: the line of the library that asked."""

    values: tuple[str, ...] = ()
    """The program's expressions that it is about."""
    functions: tuple[str, ...] = ()
    """The program's functions that met it."""
    python: tuple[str, ...] = ()
    """Those of them that ended as ordinary Python."""
    more: str = ""
    """What follows from it, in a second sentence."""
    caused: tuple[CompileKey, ...] = ()
    """The compilations that would not have been without it."""

    ways: tuple[WayOut, ...] = ()
    """What would avoid it, the best first: each of them is enough."""
    evidence: tuple[RawRecord, ...] = ()
    """torch's records that it rests on."""

    @property
    def needed(self) -> bool:
        """Whether nothing is to be changed: the program needs these compilations (to train and to evaluate), or torch
        compiles twice on purpose."""
        if self.of_torch:
            return True
        again = self.kind is CauseKind.RECOMPILES and not self.costs.python
        return again and not self.ways and any(use.id in ADVICE for use in self.advice)

    @property
    def of_torch(self) -> bool:
        """Whether it is a graph break in torch's own code, such as its optimizers or DistributedDataParallel."""
        return bool(self.advice) and all(use.id == "torch-own" for use in self.advice)

    @property
    def key(self) -> tuple[str, str, int, str]:
        """A key that is equal for reports of one cause from several entries, frames or attempts."""
        if self.place is None:
            return self.kind.value, self.function, 0, self.subject
        return self.kind.value, self.place.filename, self.place.line, self.subject

    def to_json(self) -> dict[str, Any]:
        """Plain data, as it stands in the manifest."""
        return {
            "kind": self.kind.value,
            "function": self.function,
            "at": _at(self.place),
            "line": self.place.text if self.place is not None else "",
            "asked": self.asked,
            "module": self.module,
            "compile_ids": [_id(key) for key in self.entries],
            "caused": [_id(key) for key in self.caused],
            "costs": {
                "compilations": self.costs.compilations,
                "python": self.costs.python,
                "operations": self.costs.operations,
                "breaks": self.costs.breaks,
            },
            "text": self.text,
            "needed": self.needed,
            "more": self.more,
            "advice": [{"id": use.id, "values": dict(use.values)} for use in self.advice],
            "ways": [way.to_json() for way in self.ways],
            "inside": _at(self.inside),
            "functions": list(self.functions),
            "ran_as_python": list(self.python),
            "evidence": [{"record": one.name, **_id(one.key), "line": one.line or None} for one in self.evidence],
        }


def _id(key: CompileKey) -> dict[str, Any]:
    return {"compile_id": key.text, "generation": key.generation}


def _at(place: Place | None) -> str:
    return f"{place.filename}:{place.line}" if place is not None else ""
