"""The calls of ``torch.compile`` that a program makes, and whether what came of them was ever called.

Input: nothing.  Output invariant: plain data; one record for all calls of one line that wrap the same thing.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable
from dataclasses import dataclass, replace

from depyf.run.records import GraphRecord, Place


class WrappedKind(enum.Enum):
    """What was given to ``torch.compile``."""

    MODULE = "module"
    FUNCTION = "function"
    CLASS = "class"
    IN_PLACE = "in place"
    """A module by its method ``compile()``, which returns nothing."""


@dataclass(frozen=True, slots=True)
class CompileCall:
    """A line of the program that calls ``torch.compile``, or ``Module.compile``."""

    place: Place
    wrapped: str
    """``Net``, ``f``: the class of the module, or the function."""
    kind: WrappedKind
    made: int = 1
    """How often the line did so."""
    called: int = 0
    """How many of the results were called while this was recorded."""
    kept: int = 0
    """How many of the results were still there when the recording ended."""
    body: Place | None = None
    """Where the function begins that a call runs: of a module its ``forward``."""
    last_line: int = 0
    """Where it ends."""
    backend: str = ""
    mode: str = ""
    inlined: bool = False
    """Its code is in a graph: something that is compiled calls it, too."""

    def __contains__(self, frame: tuple[str, int, str]) -> bool:
        """Whether a line of the program (file, line, function) is in the function that a call runs."""
        return self.body is not None and self.body.filename == frame[0] and self.body.line <= frame[1] <= self.last_line


def with_inlined(calls: Iterable[CompileCall], graphs: Iterable[GraphRecord]) -> tuple[CompileCall, ...]:
    """The calls whose results were never called, but whose code is in a graph, with that."""
    calls = tuple(calls)
    silent = [call for call in calls if not call.called and call.body is not None]
    lines = {
        frame
        for graph in graphs
        if silent and graph.origins is not None
        for _, stack in graph.origins.stacks
        for frame in stack
    }
    found = {call for call in silent if any(frame in call for frame in lines)}
    return tuple(replace(call, inlined=True) if call in found else call for call in calls)
