"""``depyf.explain`` of a loaded precompile artefact of one graph: it has no guards, no entries and no function.

Input: what is loaded.  Output: ``OneGraphReport``: what its driver wants of a call.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from depyf.sources.live.ahead.one_graph import OneGraph

_SAID = (
    "It has no guards: sizes and control flow are those of the call of the capture. A call that is not like it raises "
    "PrecompileError; depyf.why says before what it lacks."
)


@dataclass(frozen=True, slots=True)
class OneGraphReport:
    """The report of an artefact of ``torch.compiler.precompile`` with one graph."""

    graph: OneGraph

    @property
    def checks(self) -> tuple[str, ...]:
        """The conditions that the artefact checks for each call, in its order."""
        return tuple(self.graph.checks())

    def __str__(self) -> str:
        head = f"a precompile artefact of one graph, traced by make_fx, backend {self.graph.backend}; loaded"
        return "\n".join([head, _SAID, *(f"  {check}" for check in self.checks)])

    def __repr__(self) -> str:
        return f"<a precompile artefact of one graph, backend {self.graph.backend}; print() shows what it checks>"

    def to_json(self) -> dict[str, Any]:
        """Plain data: dictionaries, lists, strings."""
        return {"made": "precompiled, loaded", "backend": self.graph.backend, "checks": list(self.checks)}
