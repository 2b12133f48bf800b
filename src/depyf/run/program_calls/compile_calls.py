"""The calls of ``torch.compile`` that a program makes, whether what came of them was ever called, and why not compiled;
the calls of ``torch.export`` that failed.

Input: nothing.  Output invariant: plain data; one record for all calls of one line that wrap the same thing.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from depyf.run.places.place import Place
from depyf.run.records import GraphRecord


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
    eager: int = 0
    """How many of the results were called first under a stance that has torch compile nothing."""
    inlined: bool = False
    """Its code is in a graph: something that is compiled calls it, too."""
    libraries: tuple[str, ...] = ()
    """The packages between the program and ``torch.compile``, which is called by the first of them: ``accelerate``,
    ``transformers``."""

    def __contains__(self, frame: tuple[str, int, str]) -> bool:
        """Whether a line of the program (file, line, function) is in the function that a call runs."""
        return self.body is not None and self.body.filename == frame[0] and self.body.line <= frame[1] <= self.last_line


_TORCH = re.compile(r"[/\\]torch[/\\]nn[/\\]")


def _of_torch(call: CompileCall) -> bool:
    """A module of torch's own: Dynamo names no line of its code."""
    return call.body is not None and _TORCH.search(call.body.filename) is not None


@dataclass(frozen=True, slots=True)
class FailedExport:
    """A call of ``torch.export`` that ended with an error."""

    place: Place
    """The line that calls it."""
    error: str
    """In plain words."""
    error_at: Place | None = None
    """The line of the program that the error is about."""
    fixes: tuple[str, ...] = ()
    """What torch suggests for ``dynamic_shapes``: ``b = 3``."""
    on_values: bool = False
    """The line asks for the values in a tensor."""


def with_inlined(calls: Iterable[CompileCall], graphs: Iterable[GraphRecord]) -> tuple[CompileCall, ...]:
    """The calls, with ``inlined`` where the code is in a graph although the result was never called."""
    calls, graphs = tuple(calls), tuple(graphs)
    silent = [call for call in calls if not call.called and call.body is not None]
    lines = {
        frame
        for graph in graphs
        if silent and graph.origins is not None
        for _, stack in graph.origins.stacks
        for frame in stack
    }
    modules = {
        name for graph in graphs if silent and graph.facts is not None for _, name, _ in graph.facts.layers.modules
    }
    found = {call for call in silent if any(frame in call for frame in lines)}
    found |= {call for call in silent if call.wrapped in modules and _of_torch(call)}
    return tuple(replace(call, inlined=True) if call in found else call for call in calls)
