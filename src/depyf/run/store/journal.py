"""Appends to ``run.jsonl`` while a run goes on.

Input: records, as soon as they are known.  Output invariant: what ``add`` returned from is in the file, so that a
process that is killed leaves it; a line that does not fit on a full disk is cut off, and the next one begins anew.
"""

from __future__ import annotations

import threading

from depyf.run.files.layout import RUN
from depyf.run.files.writer import DumpWriter
from depyf.run.records import EntryRecord
from depyf.run.run import Run
from depyf.run.store.lines import FORMAT, Lines, RunLine, line_of


class Journal:
    """The file of one recording, in one process."""

    def __init__(self, writer: DumpWriter) -> None:
        self._writer = writer
        self._lines = Lines()
        self._last: dict[object, object] = {}
        """What a line may tell of -> what the last one told."""
        self._torn = False
        """The last line may have been cut off."""
        self._lock = threading.Lock()

    def begin(self, run: Run) -> None:
        """Start anew; ``run``: what is known at the beginning."""
        self._writer.write(RUN, line_of(RunLine(FORMAT, run)))

    def add(self, record: object) -> None:
        """Append the line of ``record``, of a class in ``KINDS``."""
        with self._lock:
            self._append(line_of(record))

    def put(self, *told: tuple[object, object]) -> None:
        """Append each record of ``told``, pairs of a key and a record, unless the last line for its key is the same."""
        with self._lock:
            lines = [self._line(record) for what, record in told if self._is_new(what, record)]
            if lines:
                self._append("".join(lines))

    def _is_new(self, what: object, record: object) -> bool:
        before, self._last[what] = self._last.get(what), record
        return before != record

    def _line(self, record: object) -> str:
        return self._lines.entry(record) if isinstance(record, EntryRecord) else line_of(record)

    def forget(self, what: object) -> None:
        """Forget the last line for the key ``what``, so that ``put`` writes its next record in any case."""
        with self._lock:
            self._last.pop(what, None)

    def _append(self, text: str) -> None:
        self._torn = not self._writer.append(RUN, "\n" + text if self._torn else text)
