"""What one rank's log tells, as checksums: enough to find the ranks that differ, and since when.

Input: a log.  Output: for each compilation its records in order, a checksum and the line of each, and when it began and
ended.  The log is streamed, and no text is kept.  What differs between ranks by nature (devices, addresses, folders
of a rank, times) does not count.
"""

from __future__ import annotations

import hashlib
import json
import re
from array import array
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from depyf.run.compile_stages import BY_EVENT, WRAPPER
from depyf.run.records import CompileKey
from depyf.run.trace_events import compile_id_in
from depyf.sources.trace_log.log_events import artifact_name
from depyf.sources.trace_log.log_files import LogFile, opened
from depyf.sources.trace_log.log_lines import LogLines, LogRecord

_STARTS, _ENDS, _GUARDS = "dynamo_start", "compilation_metrics", "dynamo_cpp_guards_str"
_WORDS = {
    _STARTS: "begin",
    "recompile_reasons": "why it is compiled again",
    "dynamo_graph_break_reason": "graph break",
    _GUARDS: "guards",
    "dynamo_error": "error",
    _ENDS: "end",
    "bwd_compilation_metrics": "end of the backward",
}
COMPARED = {**{event: stage for event, stage in BY_EVENT.items() if stage != WRAPPER}, **_WORDS}
"""The records that are compared, and what they are called.  Generated code is left out: it names files by checksums."""
_TOLD = ("co_name", "fail_type", "graph_op_count", "has_guarded_code")
_BY_NATURE = re.compile(
    r"(?P<device>\b(?:cuda|xpu|hpu):)\d+|0x[0-9a-fA-F]{5,}|\d{12,}|(?<![\w.])rank_\d+(?=/)"
    r"|(?P<index>\b(?:device_index|index|get_raw_stream|_DeviceGuard|set_device|device)[=(])\d+"
    r"|/[^\s'\"]*/torchinductor_[^\s'\"]*|^Guard latency = .*$"
    r"|(?P<check>___check_\w+\([^\n]*?, )\d{7,}(?=[,)])|(?P<graph># graph id: )\d+",
    re.M,
)
_COMMENT = re.compile(r"  # .*$", re.M)
"""The line that a guard is for: of several torch takes one or another."""
_SIZE = 8
_DAYS = (0, 31, 60, 91, 121, 152, 182, 213, 244, 274, 305, 335)


@dataclass(slots=True)
class CompilationDigest:
    """The kinds and checksums of the records of one compilation on one rank."""

    function: str = ""
    kinds: list[str] = field(default_factory=list)
    checksums: bytearray = field(default_factory=bytearray)
    lines: array[int] = field(default_factory=lambda: array("Q"))
    began: float = 0.0
    """In seconds since the year began, as the clock there stood; 0 where that is not told."""
    ended: float = 0.0

    def checksum(self, at: int) -> bytes:
        """The checksum of the record at index ``at``."""
        return bytes(self.checksums[at * _SIZE : (at + 1) * _SIZE])


@dataclass(slots=True)
class RankDigest:
    """The checksums of the log of one rank."""

    rank: int
    log: str
    compilations: dict[str, CompilationDigest] = field(default_factory=dict)
    """By compile id, in the order in which they began."""

    @property
    def checksum(self) -> bytes:
        """A checksum that is equal for ranks with equal compilations."""
        whole = hashlib.blake2b(digest_size=16)
        for name in sorted(self.compilations):
            one = self.compilations[name]
            whole.update(repr((name, one.kinds)).encode() + bytes(one.checksums))
        return whole.digest()


def rank_digest(rank: int, log: LogFile) -> RankDigest:
    """The digest of one log.  OSError where it cannot be read."""
    found = _Digesting(rank, log)
    with opened(log.path) as file:
        for record in LogLines(file, _is_compared):
            found.take(record)
    return found.digest


def _name_of(metadata: Mapping[str, Any]) -> str:
    return artifact_name(metadata) or next((name for name in metadata if name in COMPARED), "")


def _is_compared(metadata: dict[str, Any]) -> bool:
    return _name_of(metadata) in COMPARED


class _Digesting:
    def __init__(self, rank: int, log: LogFile) -> None:
        self.digest = RankDigest(rank, log.path.name)
        self._generation = 0

    def take(self, record: LogRecord) -> None:
        name, compile_id = _name_of(record.metadata), compile_id_in(record.metadata)
        key = CompileKey(self._generation, compile_id).label
        known = self.digest.compilations.get(key)
        if name == _STARTS and known is not None and known.ended:  # torch counts from 0 again
            self._generation += 1
            key, known = CompileKey(self._generation, compile_id).label, None
        if known is None:
            known = self.digest.compilations[key] = CompilationDigest(began=moment(record.stamp))
        said = record.payload
        if name in (_STARTS, _ENDS, "bwd_compilation_metrics"):
            data = record.metadata.get(name)
            said = json.dumps([str(data.get(field)) for field in _TOLD]) if isinstance(data, dict) else ""
            if name == _ENDS:
                known.ended = moment(record.stamp)
                known.function = str(data.get("co_name") or "") if isinstance(data, dict) else ""
        if name == _GUARDS:
            said = _COMMENT.sub("", said)
        said = _BY_NATURE.sub(_alike, said)
        known.kinds.append(name)
        known.checksums += hashlib.blake2b(said.encode("utf-8", "replace"), digest_size=_SIZE).digest()
        known.lines.append(record.line)


def _alike(match: re.Match[str]) -> str:
    return f"{next(filter(None, match.groups()), '')}N"


def moment(stamp: str) -> float:
    """``1129 01:27:19.715000`` in seconds since the year began (of 366 days); 0 for another text."""
    try:
        month, day = int(stamp[:2]), int(stamp[2:4])
        hours, minutes, seconds = stamp[5:].split(":")
        return (((_DAYS[month - 1] + day) * 24 + int(hours)) * 60 + int(minutes)) * 60 + float(seconds)
    except (ValueError, IndexError):
        return 0.0
