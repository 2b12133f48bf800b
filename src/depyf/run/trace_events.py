"""torch's structured trace records -> one small event type.

Input: a record of the logger ``torch.__trace``, or of a log, with ``metadata`` and ``payload``.  Output: an event for
the record kinds depyf uses, None for all others.  Names are an open vocabulary: an unknown one is not an error.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from depyf.run.compile_stages import BY_EVENT

NAMED_INSIDE = ("artifact", "graph_dump")
"""Events that say in their data what they are."""
PHASE = "chromium_event"
"""Begins or ends a phase of a compilation."""
OTHERS = frozenset({
    "dynamo_start",
    "dynamo_error",
    "dynamo_graph_break_reason",
    "recompile_reasons",
    "dynamo_cpp_guards_str",
    "compilation_metrics",
    "bwd_compilation_metrics",
    "create_symbol",
    "create_unbacked_symbol",
    "symbolic_shape_specialization",
    "guard_added",
    "guard_added_fast",
})  # fmt: skip

_CACHES = (
    ("fx_graph_cache_", "FX graph"),
    ("fx_graph_bundled_cache_", "FX graph (bundled)"),
    ("aotautograd_cache_", "AOTAutograd"),
    ("dynamo_cache_", "Dynamo"),
    ("precompile_cache_", "precompile"),
)
"""Beginnings of artifact names that report what a cache answered -> the cache."""


def cache_of(name: str) -> tuple[str, str] | None:
    """``fx_graph_cache_miss`` -> ("FX graph", "miss"); None for any other event."""
    for prefix, cache in _CACHES:
        if name.startswith(prefix) and name[len(prefix) :] in ("hit", "miss", "bypass", "exception"):
            return cache, name[len(prefix) :]
    return None


def is_read(name: str) -> bool:
    """Whether depyf reads the events, or the artifacts, of this name."""
    return name in BY_EVENT or name in OTHERS or cache_of(name) is not None


@dataclass(frozen=True, slots=True)
class TraceEvent:
    """One trace record: its name, the compile id it belongs to, and what it says."""

    name: str
    compile_id: str
    attempt: int
    data: dict[str, Any]
    payload: str


def read_event(record: object) -> TraceEvent | None:
    """The event in ``record``; None where depyf does not read events of its name."""
    metadata = getattr(record, "metadata", None)
    if not isinstance(metadata, dict):
        return None
    for name, data in metadata.items():
        if name in NAMED_INSIDE and isinstance(data, dict):
            name = str(data.get("name", ""))
        if is_read(name):
            payload = getattr(record, "payload", None)
            text = payload if isinstance(payload, str) else ""
            attempt = metadata.get("attempt")
            return TraceEvent(
                name, compile_id_in(metadata), attempt if isinstance(attempt, int) else 0,
                data if isinstance(data, dict) else {}, text,
            )  # fmt: skip
    return None


def phase_event(record: object) -> dict[str, Any] | None:
    """The begin or end of a phase in ``record``: ``name``, ``ph`` (``B`` or ``E``), ``ts``, ``args``; None for other
    events."""
    metadata = getattr(record, "metadata", None)
    payload = getattr(record, "payload", None)
    if not isinstance(metadata, dict) or PHASE not in metadata or not isinstance(payload, str):
        return None
    event = json.loads(payload)
    return event if isinstance(event, dict) else None


def compile_id_in(metadata: dict[str, Any]) -> str:
    """The compile id in ``metadata``, as ``str(torch._guards.CompileId)`` has it: ``0/1``, ``!0/1/0``, ``!0``."""
    autograd = metadata.get("compiled_autograd_id")
    frame, number = metadata.get("frame_id"), metadata.get("frame_compile_id")
    frame_text = "" if frame is None else f"{frame}/{number}"
    if autograd is None:
        return frame_text
    return f"!{autograd}/{frame_text}" if frame_text else f"!{autograd}"
