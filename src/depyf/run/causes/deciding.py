"""The guard that made torch compile a function again.

Each older entry failed the call at one guard, its first that did not hold: one for each entry, and not always the same.
Input: the records of a function and of one of its entries.  Output: the failed guard that decided: one of the entry
that the call missed by the fewest values, on a value for which there was no entry yet.  A value that comes and goes (a
flag, the class of ``self``) has an entry for each of its values. It only says which entries are near the call.

An entry has as many failed guards as there are older ones: all of a function is read once, by what its guards are on.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from depyf.run.advice.source_names import named
from depyf.run.causes.guard_replay import failed_in
from depyf.run.causes.subjects import Subject, subject_of_differences
from depyf.run.guards.known_kinds import differences_in
from depyf.run.records import CompileKey, EntryRecord, FunctionRecord, RecompileRecord, RefusalRecord

_Order = tuple[int, int, tuple[int, ...]]


@dataclass(slots=True)
class _Values:
    """The values of one subject that entries were made for, as far as failed guards tell."""

    met: list[str] = field(default_factory=list)
    """In the order of the entries."""
    first: dict[str, _Order] = field(default_factory=dict)
    """Value -> the entry that tells of it first."""
    returns: bool = False
    """Whether a value comes again after another."""

    def add(self, values: Sequence[str], order: _Order) -> None:
        self.met += values
        for value in values:
            self.first.setdefault(value, order)


class DecidingGuards:
    """For each entry of a function: which of the failed guards caused the recompilation."""

    def __init__(self, function: FunctionRecord) -> None:
        self.function = function
        self._subjects: dict[str, Subject] = {}  # by the text of a guard
        self._words: dict[str, str] = {}
        self._decided: dict[CompileKey, RecompileRecord] = {}

    def of(self, entry: EntryRecord) -> RecompileRecord:
        """The failed guard of ``entry``, which has one or more, that caused the recompilation: one of the entry that
        the call missed by the fewest values.  Where several missed it by as many, or it is not recorded by how many:
        guards on a value that no entry was compiled for come first, then on one that never comes back (a counter), then
        those without known values, then all others.  Of several: the guard with the most values over time, and of these
        the one of the entry nearest to the call."""
        if self._untold(entry) and self._usual is not None:
            return self._usual
        if len(entry.recompiles) == 1:
            return entry.recompiles[0]
        found = self._decided.get(entry.key)
        if found is None:
            found = self._decided[entry.key] = self._decide(entry)
        return found

    def _untold(self, entry: EntryRecord) -> bool:
        """Whether there were too many entries for another one, and of one of them only it is known why it did not fit
        (torch keeps no more): what most of them were made for made them too many."""
        return bool(entry.failed) and not entry.raised and len(entry.recompiles) == 1 < len(self._made)

    @functools.cached_property
    def _made(self) -> Sequence[EntryRecord]:
        return [entry for entry in self.function.entries if not entry.failed]

    @functools.cached_property
    def _usual(self) -> RecompileRecord | None:
        """What most entries were made for."""
        found = [self.of(entry) for entry in self._made if entry.recompiles]
        often = Counter(map(self.subject, found)).most_common(1)
        return next((record for record in found if self.subject(record) == often[0][0]), None) if often else None

    def subject(self, record: RecompileRecord) -> Subject:
        """The value that the guard in ``record`` reads."""
        found = self._subjects.get(record.guard)
        if found is None:
            found = self._subjects[record.guard] = subject_of_differences(differences_in(record), record.guard)
        return found

    def words(self, record: RecompileRecord) -> str:
        """The value that the guard in ``record`` reads, worded for a sentence."""
        found = self._words.get(record.guard)
        if found is None:
            found = self._words[record.guard] = str(self.subject(record))
        return found

    def unfit(self, record: RecompileRecord) -> EntryRecord | None:
        """The older entry whose guard ``record`` describes; None where it is not in the run."""
        return self._entries.get(record.entry)

    @functools.cached_property
    def _entries(self) -> Mapping[str, EntryRecord]:
        return {entry.key.text: entry for entry in reversed(self.function.entries)}

    def _decide(self, entry: EntryRecord) -> RecompileRecord:
        records = self._without_symbols(entry, _nearest(entry))
        if len(records) == 1:
            return records[0]
        order = entry.key.order
        expected: dict[Subject, set[str]] = {}
        for record in entry.recompiles:
            expected.setdefault(self.subject(record), set()).add(record.expected)

        def rank(record: RecompileRecord) -> tuple[int, int]:
            if not record.actual:
                return 1, 0
            read = self.subject(record)
            values = self._values[read]
            known = record.actual in values.first and values.first[record.actual] < order
            if not known and record.actual not in expected[read]:
                return 3, len(values.first)
            return 0 if values.returns else 2, len(values.first)

        return max(records, key=rank)

    @functools.cached_property
    def _values(self) -> Mapping[Subject, _Values]:
        found: dict[Subject, _Values] = {}
        for entry in sorted(self.function.entries, key=lambda entry: entry.key.order):
            of_subject: dict[Subject, list[RecompileRecord]] = {}
            for record in entry.recompiles:
                of_subject.setdefault(self.subject(record), []).append(record)
            for read, records in of_subject.items():
                values = found.setdefault(read, _Values())
                if not values.met:
                    values.add([record.expected for record in reversed(records) if record.expected], entry.key.order)
                if not entry.failed:
                    values.add([record.actual for record in records[:1] if record.actual], entry.key.order)
        for values in found.values():
            changes = [value for value, _ in groupby(values.met)]
            values.returns = len(values.first) < len(changes)
        return found

    def _without_symbols(self, entry: EntryRecord, records: Sequence[RecompileRecord]) -> Sequence[RecompileRecord]:
        """``records`` without those on a size that another entry, which failed the call as well, takes for a symbol;
        all where none is left."""
        failed = {record.entry for record in entry.recompiles}
        elsewhere: dict[Subject, list[str]] = {}
        left = []
        for record in records:
            read = self.subject(record)
            if read.what == "size":
                if read not in elsewhere:
                    elsewhere[read] = _two_of(self._with_symbol.get(f"{read.name}.size()[{read.index}]", ()), failed)
                if any(other != record.entry for other in elsewhere[read]):
                    continue
            left.append(record)
        return left or records

    @functools.cached_property
    def _with_symbol(self) -> Mapping[str, Sequence[str]]:
        """Size, as the program writes it -> the entries in which it is a symbol."""
        found: dict[str, dict[str, None]] = {}
        for entry in self.function.entries:
            for symbol in entry.symbols:
                if not symbol.became:
                    found.setdefault(named(symbol.source), {})[entry.key.text] = None
        return {name: tuple(entries) for name, entries in found.items()}


def _nearest(entry: EntryRecord) -> Sequence[RecompileRecord]:
    """The failed guards of the entries that the call missed by the fewest values; all where it is not recorded for each
    by how many."""
    missed = {refusal.entry: _missed(refusal) for refusal in entry.refusals if refusal.failed}
    if any(record.entry not in missed for record in entry.recompiles):
        return entry.recompiles
    if _missed_everywhere(entry):
        return entry.recompiles
    least = min(missed[record.entry] for record in entry.recompiles)
    return [record for record in entry.recompiles if missed[record.entry] == least]


def _missed_everywhere(entry: EntryRecord) -> bool:
    """Whether each entry was missed first by a value by which the call missed all of them, as by another object that is
    called: then no entry is near."""
    values = [[one.value for one in failed_in(refusal.failed)] for refusal in entry.refusals if refusal.failed]
    if len(values) < 2 or not all(values):
        return False
    common = set(values[0]).intersection(*values[1:])
    return all(own[0] in common for own in values)


def _missed(refusal: RefusalRecord) -> int:
    """By how many values; sizes that changed alike are one: one input has it, and what is computed from it."""
    found: set[object] = set()
    for one in failed_in(refusal.failed):
        alike = one.difference if one.value.what == "size" else None
        found.add(one.value if alike is None else (alike.wanted.text, alike.found.text))
    return len(found)


def _two_of(entries: Sequence[str], failed: set[str]) -> list[str]:
    """The first two of ``entries`` that failed: one is another than any given one."""
    found: list[str] = []
    for entry in entries:
        if entry in failed:
            found.append(entry)
            if len(found) == 2:
                break
    return found
