"""A log of torch, record by record.

Input: the bytes of a log that anybody may have written, cut anywhere, with lines of other loggers between, or the
``raw.jsonl`` that tlparse made of one.  Output: ``LogRecord``: the metadata, the payload, when and where it was
written.  Nothing is held but the record at hand.  What cannot be read is counted, by what is wrong.

A record is a line with a header of glog, then JSON metadata. The payload follows in lines that begin with a tab
(``torch/_logging/_internal.py``, ``TorchLogsFormatter``):

    V1129 01:27:19.715000 1818 torch/_inductor/graph.py:2745] {"inductor_output_code": {...}, "has_payload": "aa42..."}
    <tab># AOT ID: ['0_inference']
"""

from __future__ import annotations

import hashlib
import json
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, BinaryIO

LONGEST = 1 << 26
"""Bytes of a line; torch's metadata are under a tenth of this."""
MOST_PAYLOAD = 1 << 28
_HEADER = re.compile(
    rb"(?:\[rank(?P<rank>\d+)\]:)?[VIWEC](?P<stamp>\d{4} \d\d:\d\d:\d\d\.\d+) +\d+ +[^:\n]{1,400}:\d+\] (?P<data>\{.*)"
)
_FAR = 400
"""Bytes before a header that a collector of logs may have put there."""


@dataclass(frozen=True, slots=True)
class LogRecord:
    """One record of a log: its metadata and its payload."""

    metadata: dict[str, Any]
    payload: str
    stamp: str
    """When it was written, without a year: ``1129 01:27:19.715000``; "" where that is not told."""
    line: int
    """Of the log, counted from 1."""


class LogLines:
    """Iterates over the records of one file.  ``faults``: what could not be read."""

    def __init__(
        self,
        file: BinaryIO,
        wants: Callable[[dict[str, Any]], bool] = lambda metadata: True,
        payload_of: Callable[[str], str | None] | None = None,
    ) -> None:
        """``wants``: which records are read, told by their metadata; ``payload_of``: the text of a file beside a
        ``raw.jsonl``."""
        self._file = file
        self._wants = wants
        self._payload_of = payload_of
        self.faults: Counter[str] = Counter()
        self.changed = 0
        """Records whose payload is not what torch wrote, and whole."""
        self.cut = False
        """The last record is not whole."""
        self._open = False
        """The last line has no end."""

    def __iter__(self) -> Iterator[LogRecord]:
        found = _Gathered(None, False)
        for number, line in self._lines():
            if line.startswith(b"\t"):
                found.add(line)
                continue
            head = self._head(line, number)
            self.cut = head is None and self._open
            if head is None:
                found.interrupted = True
                continue
            if (whole := self._whole(found)) is not None:
                yield whole
            found = _Gathered(head, self._wants(head.metadata))
        found.interrupted = True
        whole = self._whole(found)
        self.cut = self.cut or (found.wanted and whole is None)
        if whole is not None:
            yield whole

    def heads(self) -> Iterator[LogRecord]:
        """The records without their payloads."""
        for number, line in self._lines():
            if not line.startswith(b"\t") and (found := self._head(line, number)) is not None:
                yield found

    def _lines(self) -> Iterator[tuple[int, bytes]]:
        number, skipping = 0, False
        try:
            while line := self._file.readline(LONGEST):
                ended = line.endswith(b"\n")
                if not skipping:
                    number += 1
                    self._open = not ended
                    if ended or len(line) < LONGEST:
                        yield number, line
                    else:
                        self.faults["lines that are too long"] += 1
                skipping = not ended
        except (OSError, EOFError, ValueError, zlib.error) as error:  # a compressed file that is cut or damaged
            self.faults[f"the rest of the file, which is damaged ({type(error).__name__})"] += 1

    def _head(self, line: bytes, number: int) -> LogRecord | None:
        found = _HEADER.match(line)
        if found is None and line.startswith(b"{"):
            return self._json(line, number, "", None)
        if found is None and b"] {" in line:
            found = _HEADER.search(line, 0, min(len(line), line.find(b"] {") + LONGEST))
            found = found if found is not None and found.start() <= _FAR else None
        if found is None:
            if line.strip():
                self.faults["lines that are no record of torch"] += 1
            return None
        return self._json(found["data"], number, found["stamp"].decode("ascii"), found["rank"])

    def _json(self, text: bytes, number: int, stamp: str, rank: bytes | None) -> LogRecord | None:
        try:
            data = json.loads(text.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            self.faults["records whose JSON is damaged"] += 1
            return None
        if type(data) is not dict:
            self.faults["records whose JSON is damaged"] += 1
            return None
        if rank is not None:
            data.setdefault("rank", int(rank[:9]))
        return LogRecord(data, "", stamp or str(data.get("timestamp") or ""), number)

    def _whole(self, found: _Gathered) -> LogRecord | None:
        """The record with its payload, of which torch gives the checksum: None where it is not whole."""
        head = found.head
        if head is None or not found.wanted:
            return None
        checksum, name = head.metadata.get("has_payload"), head.metadata.get("payload_filename")
        if checksum is None:
            return head
        if self._payload_of is not None and isinstance(name, str) and not found.parts:
            text = self._payload_of(name)
            if text is None:
                self.faults["records whose payload is not there"] += 1
            return None if text is None else replace(head, payload=text)
        if found.size > MOST_PAYLOAD:
            self.faults["records whose payload is too long"] += 1
            return None
        payload = b"".join(found.parts)
        payload = payload[:-1] if payload.endswith(b"\n") else payload
        if isinstance(checksum, str) and hashlib.md5(payload, usedforsecurity=False).hexdigest() != checksum:
            if found.interrupted or not payload:
                self.faults["records whose payload is cut"] += 1
                return None
            self.changed += 1  # by who made the log public: paths, names
        return replace(head, payload=payload.decode("utf-8", "replace"))


@dataclass(slots=True)
class _Gathered:
    """A record and the lines after it."""

    head: LogRecord | None
    wanted: bool
    parts: list[bytes] = field(default_factory=list)
    size: int = 0
    interrupted: bool = False
    """Lines of others stand between, or it is the end of a file that is cut."""

    def add(self, line: bytes) -> None:
        """A line of the payload."""
        if self.wanted:
            self.size += len(line)
            if self.size <= MOST_PAYLOAD:
                self.parts.append(line[1:])
