"""The compilations of a dump whose process goes on, read from its journal as it grows.

Input: a folder that ``depyf.prepare_debug`` writes to.  Output: what has ended since the last look.  The journal is
only read, and a journal that was begun anew is read anew.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from depyf.errors import DepyfError
from depyf.run.files.layout import MANIFEST, RUN
from depyf.run.files.writer import is_going_on
from depyf.run.records import CompileKey, EntryRecord, FunctionRecord
from depyf.run.store.loading import RunReading, load
from depyf.safety.escape import printable

_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
_MOST = 1 << 26
"""Bytes that are read at once."""


@dataclass(frozen=True, slots=True)
class Ended:
    """A compilation that torch is done with."""

    function: FunctionRecord
    entry: EntryRecord
    seconds: float | None
    """What it took; None where that is not known yet."""


class GrowingJournal:
    """Reads one journal while it grows."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._file: tuple[int, int] | None = None
        self._at = 0
        self._reading = self._anew()
        self._told: set[CompileKey] = set()
        self._untimed: set[CompileKey] = set()

    def _anew(self) -> RunReading:
        return RunReading(printable(str(self.folder / RUN)))

    def more(self) -> list[Ended]:
        """What has ended since the last call; DepyfError where the journal is damaged from its first line on."""
        if not self._read() and not self._untimed:
            return []
        if self._reading.head is None and not self._reading.damaged:
            return []  # its first line is being written
        run = load(self.folder) if (self.folder / MANIFEST).exists() else self._reading.run()
        seconds, found = run.seconds_of, []
        untimed, self._untimed = self._untimed, set()
        for function, entry in run.entries:
            if not entry.finished or entry.key in self._told:
                continue
            if entry.key not in seconds and entry.key not in untimed:
                self._untimed.add(entry.key)  # its time comes in a line after it, if ever
                continue
            self._told.add(entry.key)
            found.append(Ended(function, entry, seconds.get(entry.key)))
        return found

    def _read(self) -> bool:
        """Whether there is anything new."""
        try:
            handle = os.open(self.folder / RUN, _FLAGS)
        except OSError:
            return False
        with open(handle, "rb") as file:
            found = os.fstat(handle)
            if not stat.S_ISREG(found.st_mode):
                raise DepyfError(f"{printable(str(self.folder / RUN))} is no ordinary file")
            if (found.st_dev, found.st_ino) != self._file or found.st_size < self._at:
                self._file, self._at, self._reading = (found.st_dev, found.st_ino), 0, self._anew()
            file.seek(self._at)
            before = self._at
            while data := file.read(_MOST):
                self._at += len(data)
                self._reading.feed(data)
            return self._at > before

    @property
    def goes_on(self) -> bool:
        """Whether the process that writes the journal is alive, as far as the system tells."""
        return is_going_on(self.folder)
