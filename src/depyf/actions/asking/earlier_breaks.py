"""The graph breaks of functions that are called while a block lasts, and were compiled before it.

Input: torch's cache.  Output: ``Seen`` records, as if torch had compiled these functions in the block.
"""

from __future__ import annotations

import types

from depyf.actions.asking.watch import Seen
from depyf.run.places.place import Place
from depyf.run.records import BreakRecord, EntryRecord, EntryState, FunctionRecord
from depyf.sources.live.caches.broken_calls import BrokenCalls
from depyf.sources.live.caches.live_run import live_run

_FORGOTTEN = "its graph breaks; torch no longer remembers where"


class EarlierBreaks:
    """Notes the functions with graph breaks that are called between ``start`` and ``stop``."""

    def __init__(self) -> None:
        self._calls = BrokenCalls()
        self._codes: tuple[types.CodeType, ...] = ()

    def start(self) -> None:
        self._calls.start()

    def stop(self) -> None:
        self._codes = self._calls.stop()

    def found(self) -> tuple[Seen, ...]:
        """The entries with graph breaks of the functions that were called, as records."""
        if not self._codes:
            return ()
        run = live_run((), codes=self._codes)
        called = {(code.co_filename, code.co_firstlineno, code.co_name) for code in self._codes}
        return tuple(
            _seen(function, entry)
            for function in run.functions
            if (function.code.filename, function.code.line, function.code.name) in called
            for entry in function.entries
            if entry.state is EntryState.COMPILED and entry.broke
        )


def _seen(function: FunctionRecord, entry: EntryRecord) -> Seen:
    code = function.code
    breaks = tuple(record for record in entry.breaks if not record.limit)
    if not breaks:
        place = Place(code.filename, code.line, code.qualname)
        breaks = (BreakRecord("", place, _FORGOTTEN, _FORGOTTEN, "", (), "", skipped=False),)
    return Seen(entry.key.text, code.shown, f"{code.filename}:{code.line}", breaks, (), 0, "")
