"""The garbage collector during a decompilation: it looks at what is new more rarely, so that time stays linear.

A decompilation makes millions of small objects that live until it ends, and nearly all of which reference counting frees
then.  With the usual threshold of 700 the collector goes through all of them again and again: half of the time for a
function of 100 000 instructions, none for one of 4 000.  While one runs, the threshold is a million: what garbage there
is in cycles waits until so many objects more are alive, which bounds the memory it takes (some 100 MB), and each
collection has a million new objects to pay for it.

The collector is never switched off or on: a program that does so itself, at any time and in any thread, keeps its way.
"""

from __future__ import annotations

import contextlib
import gc
import threading
from collections.abc import Iterator

RARELY = 1_000_000

_lock = threading.Lock()
_running = 0
_before: tuple[int, int, int] = (0, 0, 0)


@contextlib.contextmanager
def rare_collections() -> Iterator[None]:
    """Raise the threshold of the youngest generation; the last to leave puts it back, unless the program has set it."""
    global _running, _before
    with _lock:
        _running += 1
        if _running == 1:
            _before = gc.get_threshold()
            if 0 < _before[0] < RARELY:
                gc.set_threshold(RARELY, *_before[1:])
    try:
        yield
    finally:
        with _lock:
            _running -= 1
            if _running == 0 and 0 < _before[0] < RARELY and gc.get_threshold() == (RARELY, *_before[1:]):
                gc.set_threshold(*_before)
