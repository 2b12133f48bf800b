"""The compilations that a log of torch tells of, read as it grows.

Input: a log that ``TORCH_TRACE`` makes.  Output: what has ended since the last look.  A record is taken when all of it
is there; payloads are not kept.
"""

from __future__ import annotations

import io
import time
from collections.abc import Iterator

from depyf.actions.following.growing_journal import Ended
from depyf.errors import DepyfError
from depyf.run.compile_stages import BY_EVENT
from depyf.run.records import CompileKey, EntryRecord, FunctionRecord
from depyf.run.trace_events import TraceEvent
from depyf.safety.escape import printable
from depyf.sources.reports.library_files import torch_elsewhere
from depyf.sources.trace_log.heard_log import HeardLog
from depyf.sources.trace_log.lines_at_hand import ProgramLines
from depyf.sources.trace_log.log_events import is_wanted
from depyf.sources.trace_log.log_files import LogFile, opened
from depyf.sources.trace_log.log_lines import LogLines
from depyf.sources.trace_log.logged_run import EntryReader

_PART = 1 << 24
"""Bytes that are read at once."""


class _Ends(HeardLog):
    """Keeps which compilations have ended, and no graphs."""

    def __init__(self) -> None:
        super().__init__()
        self.ended: list[CompileKey] = []
        self.on_closed = self.ended.append

    def take_graph(self, key: CompileKey, event: TraceEvent) -> None:
        """That it is there says that there is code; its text is not shown."""
        self.add_graph(key, BY_EVENT[event.name], event.name, attempt=event.attempt)


class GrowingLog:
    """Reads one log while it grows.  DepyfError where it is compressed."""

    def __init__(self, log: LogFile) -> None:
        self.log = log
        self._heard = _Ends()
        self._program = ProgramLines(time.time())
        self._at = 0
        self._rest = b""
        """The last record, until it is whole."""

    @property
    def goes_on(self) -> bool:
        """Always True: a log does not say whether its process is alive."""
        return True

    def more(self) -> list[Ended]:
        """The compilations that ended since the last call.  DepyfError for a compressed log."""
        found: list[Ended] = []
        with torch_elsewhere(), self._program.shown(), opened(self.log.path) as file:
            if self.log.packed:
                raise DepyfError(f"{printable(str(self.log.path))} is compressed: it does not grow")
            file.seek(self._at)
            while data := file.read(_PART):
                self._at += len(data)
                self._take(data)
                found += self._ended()
        return found

    def _take(self, data: bytes) -> None:
        data = self._rest + data
        end = data.rfind(b"\n") + 1
        begin = _last_record(data, end)
        for record in LogLines(io.BytesIO(data[:begin]), is_wanted):
            self._heard.take(record)
        last = LogLines(io.BytesIO(data[begin:end]), is_wanted)
        records = list(last)
        if not last.cut:
            begin = end
            for record in records:
                self._heard.take(record)
        self._rest = data[begin:]

    def _ended(self) -> list[Ended]:
        keys, self._heard.ended[:] = list(self._heard.ended), []
        return list(self._records(sorted(dict.fromkeys(keys), key=lambda key: key.order))) if keys else []

    def _records(self, keys: list[CompileKey]) -> Iterator[Ended]:
        reader, heard = EntryReader(self._heard), self._heard
        times = {record.key: record.whole for record in map(heard.times_of, keys)}
        for key in keys:
            record: EntryRecord | None = reader.entry(heard.entries[key])
            if record is not None:
                code = heard.code_of(key.function)
                function = FunctionRecord(key.function, code, (), heard.begun_by(key.function))
                yield Ended(function, record, times[key])


def _last_record(data: bytes, end: int) -> int:
    """Where the last record begins: its payload stands in lines that begin with a tab."""
    while end > 0:
        end = data.rfind(b"\n", 0, end - 1) + 1
        if data[end : end + 1] != b"\t":
            return end
    return 0
