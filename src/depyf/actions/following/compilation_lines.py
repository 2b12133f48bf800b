"""A line for each compilation of a run that goes on: what was compiled, how long it took, and why.

Input: functions and compilations as they end.  Output: lines for a terminal, each compilation once.  Memory grows with
the compilations, not with the graphs.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace

from depyf.run.causes.cause import CauseKind
from depyf.run.causes.events import CostlyEvent, events_of, program_names
from depyf.run.causes.sentences import break_sentence, failure_sentence, recompile_sentence
from depyf.run.places.place import Place
from depyf.run.records import CompileKey, EntryRecord, EntryState, FunctionRecord
from depyf.run.run import Run
from depyf.safety.escape import cut, one_line, printable

_LONGEST = 100
_INDENT = "      "


class CompilationLines:
    """Makes the lines about the compilations of one process, each compilation once."""

    def __init__(self, label: str = "") -> None:
        self._label = f"{label}  " if label else ""
        self._functions: dict[tuple[int, str], FunctionRecord] = {}
        self._told: set[CompileKey] = set()
        self._here = os.path.join(os.getcwd(), "")

    def lines(self, function: FunctionRecord, entry: EntryRecord, seconds: float | None) -> list[str]:
        """The lines about a compilation; [] while it is unfinished, and after the first time.  The entries of
        ``function`` are ignored: earlier entries are those of earlier calls."""
        if entry.state is EntryState.UNFINISHED or entry.key in self._told:
            return []
        self._told.add(entry.key)
        known = self._functions.get(function.function)
        earlier = known.entries if known is not None else ()
        self._functions[function.function] = replace(function, entries=(*earlier, replace(entry, left_out=())))
        run = Run("", "", tuple(self._with_whole(function.function)))
        name = entry.wrapped or program_names(run)[function.function]
        events = [event for event in events_of(run) if event.entry.key == entry.key]
        code = function.code
        where = f"{self._file(code.filename)}:{code.line}" if code.filename else ""
        rest = "the rest of " if function.resume_of is not None else ""
        head = f"{self._label}{entry.key.label:<5} {rest}{name} ({where})  {_became(entry, seconds)}"
        return [printable(head), *(_INDENT + one_line(text) for text in self._reasons(entry, events))]

    def _with_whole(self, number: tuple[int, str]) -> Iterator[FunctionRecord]:
        """A function, and those that it is the rest of."""
        seen: set[tuple[int, str]] = set()
        found: FunctionRecord | None = self._functions[number]
        while found is not None and found.function not in seen:
            seen.add(found.function)
            yield found
            found = self._functions.get(found.resume_of) if found.resume_of is not None else None

    def _reasons(self, entry: EntryRecord, events: list[CostlyEvent]) -> Iterator[str]:
        for event in events:
            if event.kind is CauseKind.RECOMPILES:
                yield f"because {recompile_sentence([event])}{self._at(event.place)}"
            elif event.kind is CauseKind.BREAKS:
                yield f"graph break: {break_sentence([event])}{self._at(event.place)}"
            else:
                yield f"{failure_sentence([event])}{self._at(event.place)}"
        if entry.failed and not events and entry.state is not EntryState.NOTHING:
            yield entry.failed

    def _at(self, place: Place | None) -> str:
        if place is None or not place.line:
            return ""
        text = f" `{cut(place.text, _LONGEST)}`" if place.text else ""
        return f", {self._file(place.filename)}:{place.line}{text}"

    def _file(self, name: str) -> str:
        """From the working directory, where it is below that."""
        return name.removeprefix(self._here)


def _became(entry: EntryRecord, seconds: float | None) -> str:
    took = f" in {seconds:.1f} s" if seconds is not None else ""
    if entry.state is EntryState.COMPILED:
        again = " again" if entry.recompiles else ""
        return f"{'loaded' if entry.made.loaded else 'compiled'}{again}{took}"
    if entry.state is EntryState.NOTHING:
        return f"nothing to compile{took}"
    if entry.state is EntryState.FAILED:
        return f"torch raised an error{took}"
    return f"runs as ordinary Python{took}"
