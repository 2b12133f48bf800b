"""Listens to torch's trace logger without the cost of records that are not read.

Input: a function for events.  ``listen`` attaches a handler, ``ignore`` takes it off; afterwards the logger is as it
was.

torch builds an event (a stack, JSON, a checksum, a log record) as soon as its trace logger has any handler.  Of the
events of a compilation depyf reads one in eight, and of the most frequent ones, ``chromium_event``, only name and time;
built, they cost up to a tenth of the compilation.  So while depyf is the only listener, the logger's list of handlers
is one that looks empty to torch: an event is taken when torch asks for listeners, from the functions that make its data
and its text.  Where torch asks in another way than expected, and while others listen too, the list is an ordinary one.
"""

from __future__ import annotations

import dataclasses
import json
import logging
import sys
from collections.abc import Callable, Mapping
from typing import Any

from depyf.run.trace_events import NAMED_INSIDE, PHASE, TraceEvent, is_read, phase_event, read_event
from depyf.safety.guarded import Door

TRACE_LOGGER = "torch.__trace"
_ASKS = "trace_structured"
"""The function of torch that looks at the handlers before it builds the event called ``name``."""
_METRICS = "compilation_metrics"


class Listener(logging.Handler):
    """Passes the events that depyf reads to ``take``, and begins and ends of phases to ``phase``.  An exception goes to
    ``note``, and never reaches torch."""

    def __init__(
        self,
        take: Callable[[TraceEvent], None],
        note: Callable[[str], None],
        phase: Callable[[Mapping[str, Any]], None] = lambda event: None,
    ) -> None:
        super().__init__(logging.DEBUG)
        self._take = take
        self._phase = phase
        self._door = Door("an event of torch could not be recorded", note)

    def emit(self, record: logging.LogRecord) -> None:
        with self._door:
            event = read_event(record)
            if event is not None:
                self._take(event)
            elif (phase := phase_event(record)) is not None:
                self._phase(phase)

    def handleError(self, record: logging.LogRecord) -> None:
        """Silent: logging would print a traceback into the user's output."""

    def asked(self, known: Mapping[str, Any]) -> bool:
        """Whether torch should build the event that it is about to log.  Other events are read here, from ``known``."""
        try:
            name = known["name"]
            if name == PHASE:
                self._timed(known["payload_fn"]())
                return False
            if name not in NAMED_INSIDE and not is_read(name):
                return False
            data = _data(known["metadata_fn"])
            if name in NAMED_INSIDE and not is_read(name := str(data["name"])):
                return False
            from torch._guards import CompileContext

            trace = CompileContext.current_trace_id()
            identity = trace.compile_id if trace is not None else known.get("compile_id")
        except Exception:  # another torch than those known
            return True
        with self._door:
            text = _text(known["payload_fn"]())
            attempt = 0 if trace is None else trace.attempt
            self._take(TraceEvent(name, "" if identity is None else str(identity), attempt, data, text))
        return False

    def _timed(self, event: object) -> None:
        with self._door:
            if isinstance(event, Mapping):
                self._phase(event)


def _data(metadata: Callable[[], Any]) -> dict[str, Any]:
    """What ``metadata()`` returns.  The record of a compilation that it would copy field by field is read as it is."""
    cells = zip(metadata.__code__.co_freevars, metadata.__closure__ or ()) if hasattr(metadata, "__closure__") else ()
    for name, cell in cells:
        if name == _METRICS and dataclasses.is_dataclass(metrics := cell.cell_contents):
            return {key: list(value) if isinstance(value, set) else value for key, value in vars(metrics).items()}
    data = metadata()
    return data if isinstance(data, dict) else {}


def _text(payload: object) -> str:
    """The payload as torch writes it."""
    return "" if payload is None else payload if isinstance(payload, str) else json.dumps(payload, default=list)


class _Handlers(list[logging.Handler]):
    """The handlers of the trace logger; true where torch had better build the event."""

    def __init__(self, before: list[logging.Handler], ours: Listener) -> None:
        super().__init__([*before, ours])
        self.before = before
        self.ours = ours

    def __bool__(self) -> bool:
        if len(self) != 1 or self[0] is not self.ours:
            return len(self) > 0
        asking = sys._getframe(1)
        return asking.f_code.co_name != _ASKS or self.ours.asked(asking.f_locals)


def listen(handler: Listener) -> None:
    """Attach ``handler`` to the trace logger."""
    logger = logging.getLogger(TRACE_LOGGER)
    logger.handlers = _Handlers(logger.handlers, handler)


def ignore(handler: Listener) -> None:
    """Detach ``handler`` from the trace logger, and restore its list of handlers."""
    logger = logging.getLogger(TRACE_LOGGER)
    listed = logger.handlers
    logger.removeHandler(handler)  # since Python 3.14 the logger has another list afterwards
    if isinstance(listed, _Handlers) and listed.ours is handler:
        listed.before[:] = logger.handlers
        logger.handlers = listed.before
