"""Listening to torch's trace logger without paying for the events that nobody reads.

Input: a handler.  ``listen`` attaches it, ``ignore`` takes it off; afterwards the logger is as it was.

torch builds an event (a stack, JSON, a checksum) as soon as its trace logger has any handler.  Of the events of a
compilation depyf reads one in eight; the others, most of them ``chromium_event``, cost up to a tenth of the compilation.
So while depyf is the only listener, the logger's list of handlers is one that looks empty to torch where it asks
on behalf of such an event.  Where torch asks in another way than expected, the list is an ordinary one.
"""

from __future__ import annotations

import logging
import sys

from depyf.dynamo.events import OTHERS, READ, STAGES, cache_of

TRACE_LOGGER = "torch.__trace"
_ASKS = "trace_structured"
"""The function of torch that looks at the handlers before it builds the event called ``name``."""


class _Handlers(list[logging.Handler]):
    """The handlers of the trace logger; true where torch had better build the event."""

    def __init__(self, before: list[logging.Handler], ours: logging.Handler) -> None:
        super().__init__([*before, ours])
        self.before = before
        self.ours = ours

    def __bool__(self) -> bool:
        if len(self) != 1 or self[0] is not self.ours:
            return len(self) > 0
        asking = sys._getframe(1)
        if asking.f_code.co_name != _ASKS:
            return True
        known = asking.f_locals
        name = known.get("name")
        if name == "artifact":
            return _reads_artifact(known.get("metadata_fn"))
        return not isinstance(name, str) or name in READ


def _reads_artifact(metadata: object) -> bool:
    """Whether the artifact that ``metadata()`` describes may be one that is read; torch asks it for its name again."""
    if not callable(metadata):
        return True
    try:
        name = metadata()["name"]
    except Exception:  # torch is about to meet it itself
        return True
    return not isinstance(name, str) or name in STAGES or name in OTHERS or cache_of(name) is not None


def listen(handler: logging.Handler) -> None:
    """Attach ``handler`` to the trace logger."""
    logger = logging.getLogger(TRACE_LOGGER)
    logger.handlers = _Handlers(logger.handlers, handler)


def ignore(handler: logging.Handler) -> None:
    """Take ``handler`` off again, and give the logger its own list back."""
    logger = logging.getLogger(TRACE_LOGGER)
    logger.removeHandler(handler)
    current = logger.handlers
    if isinstance(current, _Handlers) and current.ours is handler:
        current.before[:] = current
        logger.handlers = current.before
