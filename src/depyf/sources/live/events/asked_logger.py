"""Hears what torch would tell one of its loggers, without switching the log on.

Input: the module of torch that has the logger, once it is loaded, and who listens.  While an ``AskedLogger`` is on, the
logger's question whether anybody listens passes through it.  The answer is unchanged, so nothing more is written than
before, and what torch would have said stands in the variables of the logger's method: the constant text, and the
values as objects.
"""

from __future__ import annotations

import functools
import logging
import sys
import types
from collections.abc import Callable

from depyf.safety.guarded import Door

_ASKED = "isEnabledFor"

Heard = Callable[[types.FrameType], None]
"""Called with the frame of the logger's method; below it is who tells."""


class AskedLogger:
    """From ``start`` to ``stop``; an exception of who hears is told to the door, and does not get into torch."""

    def __init__(self, module: str, name: str, hear: Heard, door: Door) -> None:
        """``name``: of the variable of the module that holds the logger."""
        self._module = module
        self._name = name
        self._hear = hear
        self._door = door
        self._logger: logging.Logger | None = None
        self._hook: Callable[[int], bool] | None = None

    @property
    def on(self) -> bool:
        return self._logger is not None

    def start(self) -> None:
        """Where the module is loaded; else call it again later."""
        logger = getattr(sys.modules.get(self._module), self._name, None)
        if self.on or not isinstance(logger, logging.Logger):
            return
        before = vars(logger).get(_ASKED)  # a listener around this one
        asked = before or functools.partial(type(logger).isEnabledFor, logger)

        def is_enabled_for(level: int) -> bool:
            if self._logger is logger:
                with self._door:
                    self._hear(sys._getframe(1))
            return bool(asked(level))

        self._logger, self._hook = logger, is_enabled_for
        vars(logger)[_ASKED] = is_enabled_for

    def stop(self) -> None:
        """The logger is as it was; where another listener has come around this one, the hook that is left hears
        nothing."""
        logger, self._logger = self._logger, None
        if logger is not None and vars(logger).get(_ASKED) is self._hook:
            del vars(logger)[_ASKED]
        self._hook = None
