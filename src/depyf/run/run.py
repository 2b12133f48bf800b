"""One recording of torch.compile, and what is counted in it.

Input: nothing.  Output invariant: pure data, without torch.  A number that is told anywhere (compilations, graph
breaks, seconds) is a property here, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace

from depyf.run.advice.advice import AdviceUse
from depyf.run.bill.guard_time import GuardTime
from depyf.run.bill.traced_calls import TracedCall
from depyf.run.cache_keys import CacheKey
from depyf.run.compile_stages import CAPTURED, FORWARD, WRAPPER
from depyf.run.phase_times import PhaseTime
from depyf.run.places.place import Place
from depyf.run.program_calls.checked_calls import CheckedCalls
from depyf.run.program_calls.compile_calls import CompileCall, FailedExport
from depyf.run.program_calls.precompiled_graphs import PrecompiledGraph
from depyf.run.program_calls.program_error import ProgramError
from depyf.run.records import (
    ELSEWHERE,
    BreakRecord,
    CodeRecord,
    CompileKey,
    EntryRecord,
    EntryState,
    FunctionRecord,
    GraphRecord,
)


@dataclass(frozen=True, slots=True)
class TimesRecord:
    """How long the phases of one compilation took, in seconds, as torch measured them: another in every run."""

    key: CompileKey
    seconds: tuple[tuple[str, float], ...] = ()
    """Phase -> seconds in all, by name."""
    phases: tuple[PhaseTime, ...] = ()
    traced: tuple[TracedCall, ...] = ()
    """What Dynamo traced into, callers before what they call; what took a millisecond or more."""
    instructions: int | None = None
    """What the processor ran while torch compiled it; None where that was not counted."""
    guards: tuple[GuardTime, ...] = ()
    """What the guards of each line take of a check of all of them, where depyf measured it."""

    def named(self, complete: Callable[[str], str]) -> TimesRecord:
        """The same with completed names of files: torch shortens those of guards."""
        return replace(self, guards=tuple(replace(time, file=complete(time.file)) for time in self.guards))

    @property
    def whole(self) -> float | None:
        """The seconds of the compilation and of its backward, if any; None where torch measured none."""
        known = [seconds for name, seconds in self.seconds if name in _WHOLE and 0 <= seconds <= _LONGEST]
        return sum(known) if known else None


@dataclass(frozen=True, slots=True)
class RawRecord:
    """The position of a record of torch in the log."""

    key: CompileKey
    name: str
    """As torch calls it: ``recompile_reasons``."""
    line: int = 0
    """Of the log; 0 where there was none to read."""
    place: Place | None = None
    """Of a graph break: the line of the program."""


@dataclass(frozen=True, slots=True)
class SourceRecord:
    """The copy of a file of the program that a dump keeps."""

    file: str
    """Its name in the dump."""
    path: str


_LONGEST = 1e9
"""Seconds: what says more is damaged."""
_WHOLE = ("entire_frame_compile_time", "backward.inductor_cumulative_compile_time")


@dataclass(frozen=True, slots=True)
class DistinctBreak:
    """A graph break, with the compilations that met it and what each report of it says of the function."""

    record: BreakRecord
    met: tuple[tuple[CompileKey, BreakRecord], ...]

    @property
    def ran_as_python(self) -> dict[CompileKey, str]:
        """Compilation -> how much of its function ran as ordinary Python after the break, in words."""
        found: dict[CompileKey, str] = {}
        for key, record in self.met:
            ran = "the whole function" if record.skipped else "the rest of the function" if record.cut else ""
            found[key] = ran or found.get(key, "")
        return found


@dataclass(frozen=True, slots=True)
class Run:
    """Everything known of one recording: of a block ``prepare_debug``, or a process under ``depyf run``."""

    torch_version: str
    python_version: str
    functions: tuple[FunctionRecord, ...] = field(metadata=ELSEWHERE, default=())
    graphs: tuple[GraphRecord, ...] = field(metadata=ELSEWHERE, default=())
    notes: tuple[str, ...] = ()
    never_compiled: tuple[tuple[CodeRecord, str], ...] = ()
    """Functions that Dynamo met and left alone, and why."""
    not_reported: tuple[str, ...] = ()
    """What this torch does not tell."""
    ranks: int = 1
    """How many processes the run has, each with a dump; 0 where that is not known."""
    forks: tuple[str, ...] = ()
    """The folders of forked children that compiled something, too."""
    cells: tuple[tuple[str, str], ...] = ()
    """File name of a cell of a notebook -> how the notebook calls it, ``In [3]``."""
    sources: tuple[SourceRecord, ...] = field(metadata=ELSEWHERE, default=())
    compile_calls: tuple[CompileCall, ...] = field(metadata=ELSEWHERE, default=())
    """The lines that called torch.compile while this was recorded."""
    checked: tuple[CheckedCalls, ...] = field(metadata=ELSEWHERE, default=())
    """The calls that were compared with Python."""
    from_start: bool = False
    """It was recorded from before the first line of the program to its end."""
    ended_by: ProgramError | None = None
    """The exception that ended the program, or left the block."""
    switched_off: tuple[str, ...] = ()
    """What kept torch from compiling anything when the recording ended: ``TORCH_COMPILE_DISABLE=1``, an option."""
    failed_exports: tuple[FailedExport, ...] = ()
    precompiled: tuple[PrecompiledGraph, ...] = ()
    finished: bool = False
    """The block was left: not so where the process was killed, or goes on."""
    of_log: bool = False
    """It was read from a log that torch wrote."""
    log: str = ""
    """The name of that log."""
    raw: tuple[RawRecord, ...] = ()
    """The records of it that explain compilations."""
    cache_keys: tuple[CacheKey, ...] = field(metadata=ELSEWHERE, default=())
    """What torch looked up in its compile caches, in that order."""
    times: tuple[TimesRecord, ...] = field(metadata=ELSEWHERE, default=(), compare=False)
    began: float = field(metadata=ELSEWHERE, default=0.0, compare=False)
    """When the recording began, in seconds since the epoch; 0 where that is not known."""
    missing: tuple[str, ...] = field(metadata=ELSEWHERE, default=(), compare=False)
    """What the files of the run do not say, a sentence each: where they are damaged, or of a depyf that kept less."""

    @property
    def entries(self) -> list[tuple[FunctionRecord, EntryRecord]]:
        """All compilations with their functions, by compile id."""
        pairs = ((function, entry) for function in self.functions for entry in function.entries)
        return sorted(pairs, key=lambda pair: pair[1].key.order)

    def of_state(self, *states: EntryState) -> list[tuple[FunctionRecord, EntryRecord]]:
        """The pairs of ``entries`` whose compilation is in one of ``states``."""
        return [pair for pair in self.entries if pair[1].state in states]

    @property
    def compilations(self) -> int:
        """How often torch compiled something to run."""
        return sum(not entry.made.loaded for _, entry in self.of_state(EntryState.COMPILED))

    @property
    def loaded(self) -> int:
        """How often torch loaded something to run, which was compiled before."""
        return len(self.of_state(EntryState.COMPILED)) - self.compilations

    @property
    def recompilations(self) -> int:
        """How many of the compilations were made because guards of earlier ones failed."""
        return sum(bool(entry.recompiles) for _, entry in self.of_state(EntryState.COMPILED))

    @property
    def ran_as_python(self) -> int:
        """How often a function ran as ordinary Python although there was something to compile."""
        return len(self.of_state(EntryState.PYTHON))

    @property
    def errors(self) -> int:
        """How often torch raised an error into the program instead of compiling."""
        return len(self.of_state(EntryState.FAILED))

    @property
    def unfinished(self) -> int:
        """How many compilations were going on when the process ended."""
        return len(self.of_state(EntryState.UNFINISHED))

    @property
    def breaks(self) -> list[DistinctBreak]:
        """Each graph break once."""
        found: dict[tuple[str, int, str], tuple[BreakRecord, list[tuple[CompileKey, BreakRecord]]]] = {}
        for function in self.functions:
            for entry in function.entries:
                for record in entry.breaks:
                    if not record.limit:
                        found.setdefault(record.identity, (record, []))[1].append((entry.key, record))
        return [DistinctBreak(record, tuple(met)) for record, met in found.values()]

    @property
    def breaks_met(self) -> int:
        """How often compilations ended a graph at a break; each of ``breaks`` counts as often as compilations met
        it."""
        return sum(len({key for key, _ in broken.met}) for broken in self.breaks)

    @property
    def graph_count(self) -> int:
        """How many graphs were captured, given to a backend or made code of."""
        return len({graph.key for graph in self.graphs if graph.stage in (CAPTURED, FORWARD, WRAPPER)})

    @property
    def guard_count(self) -> int:
        """How many guards the compilations have that torch calls."""
        return sum(len(entry.guards) for _, entry in self.of_state(EntryState.COMPILED))

    @property
    def operations(self) -> int:
        """How many operations the graphs of all compilations have, as torch counts them."""
        return sum(entry.operations or 0 for _, entry in self.of_state(EntryState.COMPILED))

    @property
    def seconds_of(self) -> dict[CompileKey, float]:
        """What each compilation took; those of which no time is known are left out."""
        return {record.key: seconds for record in self.times if (seconds := record.whole) is not None}

    @property
    def seconds(self) -> float | None:
        """What all compilations took; None where no time is known."""
        known = self.seconds_of.values()
        return sum(known) if known else None

    @property
    def instructions(self) -> int | None:
        """What the processor ran during all compilations; None where that was not counted."""
        known = [record.instructions for record in self.times if record.instructions is not None]
        return sum(known) if known else None

    def advice(self) -> Iterator[tuple[FunctionRecord, AdviceUse]]:
        """All advice with the function that it is for; of the entries that did not fit a call, that on the nearest."""
        for function in self.functions:
            for entry in function.entries:
                given = [
                    *(record.advice for record in entry.breaks),
                    *(r.advice for r in entry.recompiles[:1]),
                    entry.advice,
                ]
                yield from ((function, use) for uses in given for use in uses)


@dataclass(frozen=True, slots=True)
class RunTotals:
    """What is counted in one run, or in the runs of all ranks together."""

    compilations: int = 0
    loaded: int = 0
    breaks: int = 0
    """Distinct ones: a break that several ranks met is one."""
    recompilations: int = 0
    ran_as_python: int = 0
    errors: int = 0
    unfinished: int = 0
    """Compilations that were going on when the process ended."""
    seconds: float = 0.0
    """What compiling took, as far as it is known."""


def totals_of(runs: Iterable[Run]) -> RunTotals:
    """The numbers of several runs together."""
    known = tuple(runs)
    return RunTotals(
        compilations=sum(run.compilations for run in known),
        loaded=sum(run.loaded for run in known),
        breaks=len({broken.record.identity for run in known for broken in run.breaks}),
        recompilations=sum(run.recompilations for run in known),
        ran_as_python=sum(run.ran_as_python for run in known),
        errors=sum(run.errors for run in known),
        unfinished=sum(run.unfinished for run in known),
        seconds=sum(run.seconds or 0.0 for run in known),
    )
