"""The records of torch that a cause rests on.

Input: causes, and the run that they were found in.  Output: the causes with their records: those on a new entry and the
guards of the nearest one, on the graph break at this line, on a failed compilation. Of a log each has its line; of a
recording the compilation and the name of the record are known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from depyf.run.causes.cause import Cause, CauseKind
from depyf.run.records import CompileKey, EntryRecord
from depyf.run.run import RawRecord, Run

REASONS, BREAK, GUARDS = "recompile_reasons", "dynamo_graph_break_reason", "dynamo_cpp_guards_str"
_ERROR, _END = "dynamo_error", "compilation_metrics"
EXPLAINING = frozenset({REASONS, BREAK, GUARDS, _ERROR, _END})
"""torch's names of the records that explain a compilation."""


def with_evidence(run: Run, causes: Iterable[Cause]) -> tuple[Cause, ...]:
    """The causes with the records that they rest on."""
    found = _Records(run)
    return tuple(replace(cause, evidence=tuple(dict.fromkeys(found.of(cause)))) for cause in causes)


class _Records:
    def __init__(self, run: Run) -> None:
        self._of_log = run.of_log
        self._entries = {entry.key: entry for function in run.functions for entry in function.entries}
        self._known: dict[tuple[CompileKey, str], list[RawRecord]] = {}
        for record in run.raw:
            self._known.setdefault((record.key, record.name), []).append(record)

    def of(self, cause: Cause) -> Iterator[RawRecord]:
        """In the order of the compilations."""
        for key in dict.fromkeys((*cause.entries, *cause.caused)):
            entry = self._entries.get(key)
            if entry is None:
                continue
            if cause.kind is CauseKind.FAILED or (entry.failed and not entry.breaks and not entry.recompiles):
                yield from self._either(key, _ERROR, _END)
            elif entry.recompiles and (cause.kind is CauseKind.RECOMPILES or key in cause.caused):
                yield from self._records(key, REASONS)
                yield from self._records(CompileKey(key.generation, entry.recompiles[0].entry), GUARDS)
            if cause.kind in (CauseKind.BREAKS, CauseKind.RAN_AS_PYTHON) and entry.breaks:
                yield from self._breaks(entry, cause)

    def _breaks(self, entry: EntryRecord, cause: Cause) -> Iterator[RawRecord]:
        """The breaks at the line of the cause; all of them for a cause about several lines."""
        records = list(self._records(entry.key, BREAK))
        here = [one for one in records if one.place is None or cause.place is None or one.place == cause.place]
        yield from here or records

    def _either(self, key: CompileKey, *names: str) -> Iterator[RawRecord]:
        for name in names:
            if found := list(self._records(key, name)):
                yield from found
                return

    def _records(self, key: CompileKey, name: str) -> Iterator[RawRecord]:
        if self._of_log:
            yield from self._known.get((key, name), ())
        elif key in self._entries:
            yield RawRecord(key, name)
