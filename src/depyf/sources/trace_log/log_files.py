"""Which files of a folder are logs of torch, and of which run each is.

Input: a file or a folder that anybody may have written.  Output: the logs of the latest run, by rank, and those of
other runs and processes.  Links in a folder are not followed, and nothing but ordinary files is opened.
"""

from __future__ import annotations

import contextlib
import datetime
import gzip
import itertools
import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from depyf.errors import DepyfError
from depyf.run.files.reading import DumpError, read_file
from depyf.safety.escape import printable
from depyf.sources.trace_log.log_events import is_wanted
from depyf.sources.trace_log.log_lines import LogLines, LogRecord

RAW = "raw.jsonl"
"""What tlparse calls the log in its output."""
MOST_FILES = 8192
_PEEKED = 64
"""Records in which the rank is looked for."""
_BEGIN = 1 << 20
"""Bytes at the beginning of a file in which there is a record, if there are any."""
_RANK = re.compile(r"rank_(?P<rank>\d{1,6})(?:\D|$)")
_PAYLOAD = re.compile(r"(?:[\w.+ -]+/){0,3}[\w.+ -]+")
_MOST_PAYLOAD = 1 << 28


class NoLogError(DepyfError):
    """The path holds no log of torch."""


@dataclass(frozen=True, slots=True)
class LogFile:
    """A log of one process."""

    path: Path
    rank: int | None
    began: datetime.datetime
    """When its first record was written, as the clock there stood."""
    changed: float
    """When the file was written last, in seconds since the epoch."""
    packed: bool = False
    """It is compressed."""

    @contextlib.contextmanager
    def records(self) -> Iterator[LogLines]:
        """The records that depyf reads."""
        with opened(self.path) as file:
            yield LogLines(file, is_wanted, self._payload if self.path.name == RAW else None)

    @contextlib.contextmanager
    def every_record(self) -> Iterator[LogLines]:
        """All records of the log."""
        with opened(self.path) as file:
            yield LogLines(file, payload_of=self._payload if self.path.name == RAW else None)

    def _payload(self, name: str) -> str | None:
        """The text of a file that tlparse has written beside."""
        parts = name.split("/")
        if _PAYLOAD.fullmatch(name) is None or ".." in parts:
            return None
        folder = self.path.parent.joinpath(*parts[:-1])
        if any(one.is_symlink() for one in (folder, *folder.parents) if one.is_relative_to(self.path.parent)):
            return None
        try:
            return read_file(folder, parts[-1], _MOST_PAYLOAD)
        except DumpError:
            return None


@dataclass(frozen=True, slots=True)
class FoundLogs:
    """The logs of one run."""

    logs: dict[int | None, LogFile]
    """Rank -> its log; None for a process of which no rank is known."""
    others: tuple[LogFile, ...]
    """Logs of earlier runs, and of other processes without a rank."""


def find_logs(path: Path) -> FoundLogs:
    """The logs at ``path``; NoLogError where there are none, DepyfError where it cannot be read."""
    shown = printable(str(path))
    try:
        names = [path] if not path.is_dir() else _below(path)
        found = [log for name in names if (log := _log(name)) is not None]
    except (OSError, ValueError) as error:
        raise DepyfError(f"{shown} cannot be read: {getattr(error, 'strerror', None) or error}") from error
    if not found:
        raise NoLogError(f"{shown} is no log of torch: it has no record that TORCH_TRACE writes")
    found.sort(key=lambda log: (log.began, log.changed, str(log.path)))
    latest = {log.rank: log for log in found}
    if len(latest) > 1:  # a process without a rank is none of the distributed run
        latest.pop(None, None)
    ranks = dict(sorted(latest.items(), key=lambda item: -1 if item[0] is None else item[0]))
    return FoundLogs(ranks, tuple(log for log in found if log not in ranks.values()))


def has_log(path: Path) -> bool:
    """Whether ``path`` is a log, or a folder with one in it."""
    try:
        return any(_log(name) is not None for name in (_below(path) if path.is_dir() else [path]))
    except (OSError, ValueError):
        return False


def _below(folder: Path) -> list[Path]:
    """The files of a folder that may be logs, and the ``raw.jsonl`` of tlparse in it or one below."""
    found: list[Path] = []
    with os.scandir(folder) as listed:
        for item in itertools.islice(listed, MOST_FILES):
            if item.is_dir(follow_symlinks=False):
                raw = Path(item.path) / RAW
                found += [raw] if raw.is_file() and not raw.is_symlink() else []
            elif item.is_file(follow_symlinks=False) and may_be_log(item.name):
                found.append(Path(item.path))
    return sorted(found)


def may_be_log(name: str) -> bool:
    """Whether files of this name are searched for records of torch."""
    plain = name.removesuffix(".gz")
    return name == RAW or plain.endswith((".log", ".txt"))


def _log(path: Path) -> LogFile | None:
    """The log at ``path``; None where it is none."""
    first: LogRecord | None = None
    rank = _RANK.search(path.name) or (_RANK.search(path.parent.name) if path.name == RAW else None)
    number = int(rank["rank"]) if rank is not None else None
    with opened(path) as file:
        packed = isinstance(file, gzip.GzipFile)
        for record in itertools.islice(LogLines(cast("BinaryIO", _Begin(file))).heads(), _PEEKED):
            if _of_torch(record):
                first = first or record
                told = record.metadata.get("rank")
                number = told if number is None and type(told) is int and 0 <= told < 1 << 20 else number
    if first is None:
        return None
    changed = path.stat().st_mtime
    return LogFile(path, number, _moment(first.stamp, changed), changed, packed)


class _Begin:
    """The lines at the beginning of a file."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._left = file, _BEGIN

    def readline(self, most: int) -> bytes:
        line = self._file.readline(min(most, self._left)) if self._left else b""
        self._left -= len(line)
        return line


def _of_torch(record: LogRecord) -> bool:
    metadata = record.metadata
    return is_wanted(metadata) or bool({"frame_id", "has_payload", "stack"} & metadata.keys())


def _moment(stamp: str, changed: float) -> datetime.datetime:
    """When that was; the header has no year, and the file was written last in that year, or in the one after it."""
    last = datetime.datetime.fromtimestamp(changed)
    try:
        if "T" in stamp:  # of tlparse
            return datetime.datetime.strptime(stamp, "%Y-%m-%dT%H:%M:%S.%fZ")
        found = datetime.datetime.strptime(f"{last.year} {stamp}", "%Y %m%d %H:%M:%S.%f")
        return found if found <= last + datetime.timedelta(days=2) else found.replace(year=last.year - 1)
    except ValueError:  # none, or a 29 February of another year
        return last


@contextlib.contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """An ordinary file, unpacked where it is compressed; DepyfError for any other thing."""
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with open(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise DepyfError(f"{printable(str(path))} is no ordinary file")
        packed = file.read(2) == b"\x1f\x8b"
        file.seek(0)
        if not packed:
            yield cast("BinaryIO", file)
            return
        with gzip.open(file, "rb") as unpacked:
            yield cast("BinaryIO", unpacked)
