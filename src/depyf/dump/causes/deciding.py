"""The guard that made torch compile a function again.

Each older entry failed the call at one guard, its first that did not hold: one for each entry, and not always the same.
Input: the records of a function and of one of its entries.  Output: the failed guard that decided: one on a value for which
there was no entry yet.  A value that comes and goes (a flag, the class of ``self``) has an entry for each, and only sorts
the entries into those that are near the call and those that are not.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from depyf.dump.advice.source_names import named
from depyf.dump.causes.subjects import Subject, subject_of
from depyf.dump.records import EntryRecord, FunctionRecord, RecompileRecord


def deciding(function: FunctionRecord, entry: EntryRecord) -> RecompileRecord:
    """Of the failed guards of ``entry``, which has one or more, the one that decided.

    In this order: a value that no entry was made for, a value that never comes back (a counter), a guard of which no values
    are known, any other one.  Of several the one with the most values in the function's life, and of these that of the
    entry nearest to the call.
    """
    records = [r for r in entry.recompiles if not _symbol_elsewhere(subject_of(r.guard), r, function, entry)]
    records = records or list(entry.recompiles)
    if len(records) == 1:
        return records[0]
    ordered = sorted(function.entries, key=lambda other: other.key.order)
    before = [other for other in ordered if other.key.order < entry.key.order]

    def rank(record: RecompileRecord) -> tuple[int, int]:
        read = subject_of(record.guard)
        if not record.actual:
            return 1, 0
        expected = (r.expected for r in entry.recompiles if subject_of(r.guard) == read)
        ever = _values(ordered, read)
        if record.actual not in {*_values(before, read), *expected}:
            return 3, len(set(ever))
        return 0 if _returns(ever) else 2, len(set(ever))

    return max(records, key=rank)


def _values(entries: Iterable[EntryRecord], read: Subject) -> list[str]:
    """The values of ``read`` that entries were made for, in the order of the entries, as far as failed guards tell."""
    found: list[str] = []
    for entry in entries:
        records = [record for record in entry.recompiles if subject_of(record.guard) == read]
        if not found:
            found += [record.expected for record in reversed(records) if record.expected]
        if not entry.failed:
            found += [record.actual for record in records[:1] if record.actual]
    return found


def _returns(values: Sequence[str]) -> bool:
    """Whether a value comes again after another."""
    changes = [value for value, _ in groupby(values)]
    return len(set(changes)) < len(changes)


def _symbol_elsewhere(read: Subject, record: RecompileRecord, function: FunctionRecord, entry: EntryRecord) -> bool:
    """Whether another entry that failed the call takes the size that ``record`` is about for a symbol."""
    if read.what != "size":
        return False
    failed = {other.entry for other in entry.recompiles} - {record.entry}
    newer = (other for other in function.entries if other.key.text in failed)
    wanted = f"{read.name}.size()[{read.index}]"
    return any(named(s.source) == wanted and not s.became for other in newer for s in other.symbols)
