"""The records of a log -> the events that a process that compiles hears.

Input: records in order.  Output: events with the names of files, which torch writes once and names by numbers then.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from depyf.run.trace_events import NAMED_INSIDE, PHASE, TraceEvent, is_read, phase_event, read_event
from depyf.sources.reports.symbols import with_names
from depyf.sources.trace_log.log_lines import LogRecord
from depyf.sources.trace_log.logged_inputs import AOT_METADATA, DESCRIBED

STRING = "str"
VERSION = "torch_version"
ORIGINAL, TRANSFORMED = "_ORIGINAL_BYTECODE", "_MODIFIED_BYTECODE"
"""How the names of artifacts end in which torch disassembles the rest of a function."""
_TABLE = "string_table"
"""The first line of a ``raw.jsonl``."""
_MOST_STRINGS, _LONGEST_STRING = 1 << 20, 1 << 14


def artifact_name(metadata: Mapping[str, Any]) -> str:
    """The name of a record that has it in its data; "" for another record."""
    for kind in NAMED_INSIDE:
        if isinstance(data := metadata.get(kind), dict):
            return str(data.get("name", ""))
    return ""


_ABOUT = frozenset({
    "frame_id", "frame_compile_id", "attempt", "compiled_autograd_id", "has_payload", "payload_filename", "rank",
    "process", "timestamp", "thread", "pathname", "lineno", "stack",
})  # fmt: skip
"""What a record says of itself."""


def record_name(metadata: Mapping[str, Any]) -> str:
    """torch's name of a record; "" for none."""
    return artifact_name(metadata) or next((name for name in metadata if name not in _ABOUT), "")


def is_wanted(metadata: Mapping[str, Any]) -> bool:
    """Whether depyf reads records with this ``metadata``."""
    name = artifact_name(metadata)
    if name:
        return is_read(name) or name in (VERSION, AOT_METADATA) or name.endswith((ORIGINAL, TRANSFORMED))
    return any(name in (STRING, PHASE, _TABLE, *DESCRIBED) or is_read(name) for name in metadata)


class LogStrings:
    """The numbered strings in a log, read so far."""

    def __init__(self) -> None:
        self._known: dict[int, str] = {}

    def take(self, record: LogRecord) -> str:
        """The string that ``record`` writes; "" where it writes none."""
        table = record.metadata.get(_TABLE)
        if isinstance(table, list):
            for number, text in enumerate(table):
                self._add(number, text)
        pair = record.metadata.get(STRING)
        return self._add(pair[1], pair[0]) if isinstance(pair, list) and len(pair) == 2 else ""

    def _add(self, number: object, text: object) -> str:
        if type(number) is not int or type(text) is not str or len(text) > _LONGEST_STRING:
            return ""
        if number in self._known or len(self._known) < _MOST_STRINGS:
            self._known[number] = text
        return text

    @property
    def all(self) -> tuple[str, ...]:
        """All strings read so far."""
        return tuple(self._known.values())

    def named(self, number: int) -> str:
        """The string with this number; "" for none."""
        return self._known.get(number, "")


def event_of(record: LogRecord, strings: LogStrings) -> TraceEvent | None:
    """The event in ``record``; None for a record that holds none."""
    event = read_event(record)
    return None if event is None else with_names(event, strings.named)


def phase_of(record: LogRecord) -> Mapping[str, Any] | None:
    """The begin or end of a phase in ``record``; None for a record that holds none."""
    try:
        return phase_event(record)
    except (ValueError, RecursionError):
        return None
