"""What a run tells of functions and their compilations, in the words that all panels use.

Input: a ``DumpView``.  Output: ``ToldEntry`` for each compilation, ``ToldFunction`` for each function that Dynamo saw.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from depyf.run.global_names import resumed
from depyf.run.places.place import Place
from depyf.run.records import CompileKey, EntryRecord, EntryState, FunctionRecord
from depyf.views.report.dump_view import DumpView

_STATES = {
    EntryState.COMPILED: "ok",
    EntryState.PYTHON: "python",
    EntryState.NOTHING: "python",
    EntryState.FAILED: "failed",
    EntryState.UNFINISHED: "unfinished",
}


@dataclass(frozen=True, slots=True)
class ToldEntry:
    """A compilation, or an attempt, with its duration in seconds."""

    record: EntryRecord
    seconds: float | None

    @property
    def key(self) -> CompileKey:
        return self.record.key

    @property
    def compiled(self) -> bool:
        return self.record.state is EntryState.COMPILED

    @property
    def given_up(self) -> bool:
        """Whether there was something to compile, and it ran as ordinary Python."""
        return self.record.state is EntryState.PYTHON

    @property
    def failed(self) -> bool:
        return self.record.state is EntryState.FAILED

    @property
    def state(self) -> str:
        """The state as a string that ``assets/js/told.js`` reads."""
        return "broke" if self.compiled and self.record.broke else _STATES[self.record.state]

    def to_json(self) -> dict[str, Any]:
        found: dict[str, Any] = {"id": self.key.text, "state": self.state}
        if self.key.generation:
            found["generation"] = self.key.generation
        if self.seconds is not None:
            found["seconds"] = self.seconds
        return found


@dataclass(frozen=True, slots=True)
class ToldFunction:
    """A function with its compilations, in the order of their compile ids."""

    record: FunctionRecord
    entries: tuple[ToldEntry, ...]
    name: str
    """As the program knows it; of what goes on after a graph break, that of the whole function."""
    after: int | None
    """The line of the break after which it goes on; None for a whole function."""

    @property
    def id(self) -> tuple[int, str]:
        """Generation and number of the frame."""
        return self.record.function

    @property
    def place(self) -> Place:
        return Place(self.record.code.filename, self.record.code.line)

    @property
    def at(self) -> str:
        return written(self.place)

    @property
    def title(self) -> str:
        return self.name if self.after is None else f"{self.name}, after line {self.after}"

    @property
    def seconds(self) -> float | None:
        """The seconds of all its compilations; None where no time is known."""
        known = [entry.seconds for entry in self.entries if entry.seconds is not None]
        return round(sum(known), 6) if known else None

    def to_json(self) -> dict[str, Any]:
        found: dict[str, Any] = {"name": self.name, "at": self.at}
        return found if self.after is None else {**found, "after": self.after}


def written(place: Place | None) -> str:
    """``file:line``; "" for none."""
    return f"{place.filename}:{place.line}" if place is not None else ""


def told_functions(view: DumpView) -> list[ToldFunction]:
    """The functions of the run, in order."""
    seconds = view.run.seconds_of
    known = {function.function: function for function in view.run.functions}
    return [
        ToldFunction(
            function,
            tuple(
                ToldEntry(entry, seconds.get(entry.key))
                for entry in sorted(function.entries, key=lambda entry: entry.key.order)
            ),
            _whole(function, known).code.shown,
            rest[1] if (rest := resumed(function.code.qualname)) is not None else None,
        )
        for function in view.run.functions
    ]


def titles(view: DumpView) -> dict[CompileKey, str]:
    """Compilation -> the title of its function, the same in all panels."""
    return {entry.key: function.title for function in told_functions(view) for entry in function.entries}


def _whole(function: FunctionRecord, known: Mapping[tuple[int, str], FunctionRecord]) -> FunctionRecord:
    """The function that a resume function continues, in the end."""
    passed = {function.function}
    while (above := function.resume_of) is not None and above in known and above not in passed:
        passed.add(above)
        function = known[above]
    return function
