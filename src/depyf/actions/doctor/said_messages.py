"""What a program logs, and what it writes to standard error itself, in order.

This is for a process that depyf started only (the child of ``depyf doctor``), never for the user's: it exchanges the
factory of log records and ``sys.stderr``.

Input: nothing.  Output: lines.  What torch and other libraries say is no part of it: it changes with what is compiled.
"""

from __future__ import annotations

import contextlib
import io
import logging
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from depyf.run.installed_files import of_library

_MOST = 10_000
_OURS = str(Path(__file__).parents[2])


class Messages:
    """``logged``: the messages that the program's loggers made; ``written``: what its own lines wrote to standard
    error."""

    def __init__(self) -> None:
        self.logged: list[str] = []
        self.written: list[str] = []

    def start(self) -> None:
        make = logging.getLogRecordFactory()

        def record(*args: Any, **kwargs: Any) -> logging.LogRecord:
            made = make(*args, **kwargs)
            if made.name.partition(".")[0] not in ("torch", "depyf") and len(self.logged) < _MOST:
                with contextlib.suppress(Exception):  # a message that does not fit its arguments: logging says so
                    self.logged.append(f"{made.name} {made.levelname}: {made.getMessage()}")
            return made

        not_compiled(record)
        logging.setLogRecordFactory(record)
        if type(sys.stderr) is io.TextIOWrapper:
            not_compiled(_HeardStream.write)
            sys.stderr = _HeardStream(sys.stderr, self.written)


class _HeardStream(io.TextIOBase):
    """Standard error, of which what is written by a line of the program is kept."""

    def __init__(self, stream: io.TextIOWrapper, kept: list[str]) -> None:
        self._stream = stream
        self._kept = kept

    def write(self, text: str) -> int:
        filename = sys._getframe(1).f_code.co_filename
        if len(self._kept) < _MOST and not filename.startswith(_OURS) and not of_library(filename):
            self._kept.append(text)
        return self._stream.write(text)

    def flush(self) -> None:
        self._stream.flush()

    def fileno(self) -> int:
        return self._stream.fileno()

    def isatty(self) -> bool:
        return self._stream.isatty()

    def writable(self) -> bool:
        return True

    def __getattribute__(self, name: str) -> Any:
        if name in ("buffer", "encoding", "errors", "newlines", "line_buffering", "name", "mode", "reconfigure"):
            return getattr(object.__getattribute__(self, "_stream"), name)
        return object.__getattribute__(self, name)


def not_compiled(function: Callable[..., Any]) -> None:
    """Keep torch from compiling ``function``, which compiled code may call after a graph break."""
    skip = getattr(torch._dynamo.eval_frame, "skip_code", None)
    if skip is not None:
        skip(function.__code__)
