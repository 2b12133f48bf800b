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
    """Listens at a logger of torch between ``start`` and ``stop``.  Exceptions of the listener go to ``door``."""

    def __init__(self, module: str, name: str, hear: Heard, door: Door) -> None:
        """``name``: of the variable of the module that holds the logger."""
        self._module = module
        self._name = name
        self._hear = hear
        self._door = door
        self._logger: logging.Logger | None = None
        self._before: Callable[[int], bool] | None = None
        """What answered before: the method of another listener that was there first; None for the logger's own."""

    @property
    def on(self) -> bool:
        return self._logger is not None

    def start(self) -> None:
        """Attach to the logger.  Does nothing while its module is not loaded: call it again later."""
        logger = getattr(sys.modules.get(self._module), self._name, None)
        if self.on or not isinstance(logger, logging.Logger):
            return
        self._logger, self._before = logger, vars(logger).get(_ASKED)
        self._asked = self._before or functools.partial(type(logger).isEnabledFor, logger)
        vars(logger)[_ASKED] = self._is_enabled_for

    def _is_enabled_for(self, level: int) -> bool:
        if self.on:
            with self._door:
                self._hear(sys._getframe(1))
        return bool(self._asked(level))

    def stop(self) -> None:
        """Detach from the logger.  Other listeners that are still attached stay."""
        logger, self._logger = self._logger, None
        if logger is None or vars(logger).get(_ASKED) != self._is_enabled_for:
            return
        left = self._before
        while isinstance(owner := getattr(left, "__self__", None), AskedLogger) and not owner.on:
            left = owner._before
        if left is None:
            del vars(logger)[_ASKED]
        else:
            vars(logger)[_ASKED] = left
