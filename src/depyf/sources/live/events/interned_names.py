"""The names of files, which torch sends as numbers of strings that it had sent before.

Input: an event.  Output: the same with the names.
"""

from __future__ import annotations

from dataclasses import replace

from depyf.run.trace_events import TraceEvent

_STACKS = ("user_stack", "stack")


def with_names(event: TraceEvent) -> TraceEvent:
    """The innermost stack that ``event`` has, with the names of its files."""
    name = next((name for name in _STACKS if isinstance(event.data.get(name), list)), "")
    frames = event.data[name] if name else []
    if not any(isinstance(frame, dict) and isinstance(frame.get("filename"), int) for frame in frames):
        return event
    named = [{**frame, "filename": _name(frame.get("filename", ""))} for frame in frames if isinstance(frame, dict)]
    return replace(event, data={**event.data, name: named})


def _name(name: object) -> str:
    if not isinstance(name, int):
        return str(name)
    from torch._logging import structured

    table = getattr(structured, "INTERN_TABLE", {})
    return next((text for text, index in table.items() if index == name), "")
