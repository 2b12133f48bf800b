"""What a recording knows of functions, compilations and graphs while they are compiled: ``entry_facts`` freezes it.

Input: nothing.  Only weak references to live objects are kept.
"""

from __future__ import annotations

import types
import weakref
from dataclasses import dataclass, field

from depyf.run.graphs.node_origins import NodeOrigins
from depyf.run.graphs.unrolled_loops import UnrolledLoop, unrolled_loops
from depyf.run.guards.unguarded_value import FunctionReads
from depyf.run.made import Made
from depyf.run.records import (
    BreakRecord,
    CacheRecord,
    CodeRecord,
    CompileKey,
    GraphRecord,
    GuardRecord,
    RecompileRecord,
    RefusalRecord,
    TransformedRecord,
)
from depyf.safety.source_lines import source_text
from depyf.sources.reports.break_stack import BrokenAt, TracedFrame
from depyf.sources.reports.callers import RunningFrame
from depyf.sources.reports.failures import NO_FAILURE, ToldFailure
from depyf.sources.reports.symbols import SymbolTable
from depyf.sources.reports.wrapped_calls import PinnedSize, WrappedCall

_MOST_SOURCE = 1 << 20
"""Characters of a file in which loops are looked for."""


@dataclass
class FunctionBuilder:
    """A code object that Dynamo was given."""

    code: CodeRecord
    live: weakref.ref[types.CodeType] | None = None
    resume_names: dict[str, None] = field(default_factory=dict)
    """The globals that call it, where it is a resume function; torch deletes them with the parent's code."""
    hooked: bool = False
    """Its bytecode came to the hook: not so for a frame that Dynamo gave up."""
    family: int = 0
    """The id of the user's code that it is, or continues; 0 where that is not known."""
    reads: FunctionReads | None = None
    """What it reads of the program."""


@dataclass
class EntryBuilder:
    """One compile id while it is being compiled."""

    key: CompileKey
    attempt: int = 0
    closed: bool = False
    started: bool = False
    """torch analysed the frame: not so where the recompile limit was reached."""
    before: bool = False
    """It was there when the recording began."""
    made: Made = Made.CALL
    work: int = 0
    """Which work it is, of what is compiled ahead of time or loaded."""
    backend: str = ""
    transformed: TransformedRecord | None = None
    guard_text: str = ""
    parsed: tuple[str, tuple[GuardRecord, ...]] | None = None
    """The text of the guards when it was read, and what it says."""
    left_out: tuple[GuardRecord, ...] = ()
    captured: bool = False
    breaks: dict[str, BrokenAt] = field(default_factory=dict)
    """torch's report of each graph break -> what else was known then."""
    parsed_breaks: dict[str, tuple[frozenset[str], BreakRecord]] = field(default_factory=dict)
    """What those reports say, read with these options in force."""
    in_force: frozenset[str] = frozenset()
    """The options that were as an advice would have them when torch reported a break or a recompilation."""
    operations: int | None = None
    one_way: str = ""
    """An operator in its captured graph because of which no script can be made of it."""
    refusals: tuple[RefusalRecord, ...] = ()
    wrapped: WrappedCall | None = None
    """What is called, where the function is torch's wrapper."""
    error: ToldFailure = NO_FAILURE
    """What torch ended with, in plain words, and the program's line."""
    traced: tuple[TracedFrame, ...] = ()
    """What it was tracing then."""
    outside: str = ""
    """The error is that the call is outside of the declared sizes: a sentence."""
    pinned: PinnedSize | None = None
    """Where the error is of a size that is marked dynamic: what fixes it."""
    recompiles: tuple[RecompileRecord, ...] = ()
    failed: str = ""
    raised: bool = False
    """The failure was the user's to see."""
    has_code: bool = False
    """torch says that it made code, and no event shows it."""
    given_up: bool = False
    """torch said at the end that it failed: the bytecode that it may have written by then was never run."""
    restarts: tuple[str, ...] = ()
    symbols: SymbolTable = field(default_factory=SymbolTable)
    caches: list[CacheRecord] = field(default_factory=list)
    cuda_graphs_skipped: str = ""
    callers: tuple[RunningFrame, ...] = ()

    def is_other(self, work: int) -> bool:
        """Whether ``work`` is another compilation: this one has ended, or was made in another way."""
        return self.closed or self.made is not Made.AHEAD or self.work not in (0, work)


@dataclass
class GraphBuilder:
    """A reported graph.  ``record`` is replaced when a better text is found."""

    record: GraphRecord
    attempt: int


def loops_in(origins: NodeOrigins, text: str) -> tuple[UnrolledLoop, ...]:
    """The loops of the program that a captured graph holds unrolled."""
    return unrolled_loops(origins.stacks, text, lambda path: source_text(path, _MOST_SOURCE))
