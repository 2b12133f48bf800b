"""What a command does while it says nothing: a line on the terminal after two seconds.

Input: a few words, and a stream.  Output: ``report: reading and writing, 3 s``, with the seconds going on; it is gone
when the command ends, or writes.  Nothing is written where the stream is no terminal.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from typing import TextIO

from depyf.safety.escape import printable

PATIENCE = 2.0
"""Seconds before anything is said."""
_EACH = 1.0
_CLEARED = "\r\x1b[K"


_WAITING: list[Callable[[], None]] = []
"""What ends the line that is on the terminal now."""


@contextlib.contextmanager
def waiting(words: str, stream: TextIO | None, patience: float = PATIENCE) -> Iterator[None]:
    """Say ``words`` while the block takes longer than ``patience`` seconds, and has not written anything itself."""
    if not words or stream is None or not stream.isatty():
        yield
        return
    ended = threading.Event()
    thread = threading.Thread(target=_say, args=(words, stream, patience, ended), daemon=True)

    def end() -> None:
        ended.set()
        thread.join()

    thread.start()
    _WAITING.append(end)
    try:
        yield
    finally:
        _WAITING.remove(end)
        end()


def no_longer() -> None:
    """Clear the line of a waiting block for good, because there is other output."""
    for end in _WAITING:
        end()


def _say(words: str, stream: TextIO, patience: float, ended: threading.Event) -> None:
    began = time.monotonic()
    pause, said = patience, False
    with contextlib.suppress(OSError, ValueError):  # the terminal is gone
        while not ended.wait(pause):
            stream.write(f"{_CLEARED}depyf: {printable(words)}, {time.monotonic() - began:.0f} s")
            stream.flush()
            pause, said = _EACH, True
        if said:
            stream.write(_CLEARED)
            stream.flush()
