"""Run something in a process of its own, with limits that end it wherever it is, in the middle of a C function too.

In: a function without arguments that says what it has done, and its limits.  Out: all that it has said, and why it did
not end by itself ("" when it did).  The function runs in a fork: it sees all objects, and changes none of them here.
"""

from __future__ import annotations

import os
import pickle
import resource
import select
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

Say = Callable[[object], None]


class Contained(NamedTuple):
    """``said`` are the objects that the function has passed on; ``ended`` says what ended it, if not itself."""

    said: tuple[object, ...]
    ended: str


def contained(work: Callable[[Say], object], seconds: int, megabytes: int) -> Contained:
    """Call ``work`` with a function that passes an object on; ``seconds`` are of CPU time (ten times that by the clock)."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        _limited(work, reader, writer, seconds, megabytes)
    os.close(writer)
    try:
        data, late = _all_of(reader, time.monotonic() + 10 * seconds)
    finally:
        os.close(reader)
    if late:
        os.kill(child, signal.SIGKILL)
    status = os.waitpid(child, 0)[1]
    said = _objects(data)
    if late:
        return Contained(said, "it waits for something")
    if os.WIFSIGNALED(status):
        killed = os.WTERMSIG(status)
        return Contained(
            said, f"after {seconds} s" if killed == signal.SIGXCPU else f"by {signal.Signals(killed).name}"
        )
    return Contained(said, "" if os.WEXITSTATUS(status) == 0 else f"with status {os.WEXITSTATUS(status)}")


def _limited(work: Callable[[Say], object], reader: int, writer: int, seconds: int, megabytes: int) -> None:
    """The child: never comes back."""
    status = 1
    try:
        os.close(reader)
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGXCPU, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
        taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        limit = taken + (megabytes << 20)
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

        def say(thing: object) -> None:
            data = pickle.dumps(thing)
            os.write(writer, len(data).to_bytes(8, "little") + data)

        work(say)
        status = 0
    finally:
        os._exit(status)


def _all_of(reader: int, deadline: float) -> tuple[bytes, bool]:
    """What comes out of a pipe until it is closed; and whether that took too long."""
    data = b""
    while True:
        left = deadline - time.monotonic()
        if left <= 0 or not select.select([reader], [], [], left)[0]:
            return data, True
        piece = os.read(reader, 1 << 16)
        if not piece:
            return data, False
        data += piece


def _objects(data: bytes) -> tuple[object, ...]:
    found: list[object] = []
    while len(data) >= 8:
        size = int.from_bytes(data[:8], "little")
        if len(data) < 8 + size:
            break
        found.append(pickle.loads(data[8 : 8 + size]))
        data = data[8 + size :]
    return tuple(found)


def peak_megabytes() -> int:
    """The most memory that this process has had so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
