"""Deep recursion: the passes follow the nesting of the program, and ten thousand early returns nest that deep.

Python's own limit is raised for the time of a decompilation.  For code so large that this could use up the stack of the
running thread, the work is done in a thread with a stack of its own, and the limit grows with the code: it takes at most a
frame for every two bytes (``if a: return`` has eight, and four frames).  While an evaluator of frames is installed, as
Dynamo's is, a frame of Python takes C stack on every version.
"""

from __future__ import annotations

import contextlib
import contextvars
import sys
import threading
from collections.abc import Callable, Iterator
from typing import TypeVar

RECURSION_LIMIT = 6_000
"""What fits on the usual stack of eight megabytes, above what the caller has there."""
LARGE = 8_000
"""Bytes of one code object from which on it gets a stack of its own."""
ROOMY = 20_000
"""For the main thread of a program of ours, and the least on a stack of its own."""
_MOST = 1 << 20
_FRAME = 1 << 11
"""Bytes of stack for one frame of Python: an interpreter that recurses in C for each takes half of it."""
_Result = TypeVar("_Result")


@contextlib.contextmanager
def deep_recursion(limit: int = RECURSION_LIMIT) -> Iterator[None]:
    """Deeply nested programs need a deep stack; the limit is put back afterwards."""
    before = sys.getrecursionlimit()
    if before < limit:
        sys.setrecursionlimit(limit)
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def deeply(size: int, work: Callable[[], _Result]) -> _Result:
    """What ``work()`` returns or raises; ``size`` is that of the largest code object, in bytes.

    Where no thread can be started, large code has to do with the limit of small code.
    """
    if size > LARGE:
        limit = min(max(size, ROOMY), _MOST)
        with deep_recursion(limit):
            found = _in_thread(limit * _FRAME, work)
        if found:
            return found[0]
    with deep_recursion():
        return work()


def _in_thread(stack: int, work: Callable[[], _Result]) -> list[_Result]:
    """The result of ``work``; empty if there is no room for such a stack."""
    results: list[_Result] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:  # it is the caller's
            errors.append(error)

    thread = threading.Thread(target=contextvars.copy_context().run, args=(run,), name="depyf", daemon=True)
    try:
        before = threading.stack_size(stack)
    except ValueError:
        return []
    try:
        thread.start()
    except RuntimeError:
        return []
    finally:
        threading.stack_size(before)
    thread.join()
    if errors:
        raise errors.pop()
    return results
