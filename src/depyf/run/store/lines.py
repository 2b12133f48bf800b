"""The lines of ``run.jsonl``: what a run is made of, one JSON object a line, ``{"entry": {...}}``.

A line that tells of what an earlier line told of takes its place.  So a recording that is cut anywhere leaves what was
known by then, and a finished one has each thing once, in order.  Guards are lines by themselves, numbered in their
order: most entries of a function share most of theirs.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from depyf.run.cache_keys import CacheKeyLine, key_lines
from depyf.run.program_calls.checked_calls import CheckedCalls
from depyf.run.program_calls.compile_calls import CompileCall
from depyf.run.records import CompileKey, EntryRecord, FunctionRecord, GraphRecord, GuardRecord
from depyf.run.run import Run, SourceRecord, TimesRecord
from depyf.run.store.codec import plain

FORMAT = 1
"""Of the lines.  Fields that are added do not change it: who reads ignores what it does not know."""


@dataclass(frozen=True, slots=True)
class RunLine:
    """The first line of the journal: what holds for the whole run."""

    format: int
    run: Run


@dataclass(frozen=True, slots=True)
class EntryLine:
    """One compilation, with the numbers of its guards."""

    entry: EntryRecord
    guards: tuple[int, ...] = ()
    left_out: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class DroppedLine:
    """A graph of a compilation attempt that torch restarted."""

    key: CompileKey
    stage: str
    index: int


@dataclass(frozen=True, slots=True)
class NoteLine:
    """A problem of depyf."""

    text: str


KINDS: dict[str, type] = {
    "run": RunLine, "function": FunctionRecord, "guard": GuardRecord, "entry": EntryLine, "graph": GraphRecord,
    "source": SourceRecord, "dropped": DroppedLine, "times": TimesRecord, "note": NoteLine, "compile_call": CompileCall,
    "checked": CheckedCalls, "cache_key": CacheKeyLine,
}  # fmt: skip
_NAMES = {kind: name for name, kind in KINDS.items()}
_encoded = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
"""As ``json.dumps``, which makes an encoder each time."""


def line_of(record: object) -> str:
    """The line of a record of one of ``KINDS``, with its end."""
    return _encoded({_NAMES[type(record)]: plain(record)}) + "\n"


class Lines:
    """Makes lines of entries; knows the guards that have one."""

    def __init__(self) -> None:
        self._numbers: dict[GuardRecord, int] = {}

    def entry(self, entry: EntryRecord) -> str:
        """The lines of an entry: those of its guards that are new, and its own."""
        told: list[str] = []
        own, left_out = (self._numbered(guards, told) for guards in (entry.guards, entry.left_out))
        return "".join([*told, line_of(EntryLine(entry, own, left_out))])

    def _numbered(self, guards: Iterable[GuardRecord], told: list[str]) -> tuple[int, ...]:
        """Their numbers; the lines of the new ones go to ``told``."""
        numbers = []
        for guard in guards:
            number = self._numbers.get(guard)
            if number is None:
                number = self._numbers[guard] = len(self._numbers)
                told.append(line_of(guard))
            numbers.append(number)
        return tuple(numbers)


def run_lines(run: Run) -> Iterator[str]:
    """All lines of a run that has finished."""
    lines = Lines()
    yield line_of(RunLine(FORMAT, run))
    for function in run.functions:
        yield line_of(function)
        yield from map(lines.entry, function.entries)
    yield from map(line_of, run.graphs)
    yield from map(line_of, run.sources)
    yield from map(line_of, run.compile_calls)
    yield from map(line_of, run.checked)
    yield from map(line_of, key_lines(run.cache_keys))


def run_page(run: Run) -> str:
    """The text of ``run.jsonl`` of a run that has finished; the same run gives the same text."""
    return "".join(run_lines(run))


def guards_of(numbers: Iterable[int], known: list[GuardRecord]) -> tuple[GuardRecord, ...]:
    """The guards with these numbers; unknown numbers are skipped."""
    return tuple(known[number] for number in numbers if 0 <= number < len(known))
