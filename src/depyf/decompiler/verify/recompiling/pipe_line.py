"""A worker on a system that cannot fork: an ordinary child process with pipes.

It has the methods of a socket that ``worker.py`` uses.  A read that takes too long is ended by a timer that kills the
child: pipes have no timeout.
"""

from __future__ import annotations

import subprocess
import threading
from typing import IO, cast


class PipeLine:
    """Start ``command`` and talk to it through its pipes.  OSError where it cannot be started, or has ended."""

    def __init__(self, command: list[str]) -> None:
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0
        )
        self._to = cast("IO[bytes]", self._process.stdin)
        self._from = cast("IO[bytes]", self._process.stdout)
        self._seconds: float | None = None

    def settimeout(self, seconds: float) -> None:
        self._seconds = seconds

    def send(self, data: memoryview, flags: int = 0) -> int:
        return self._to.write(data)

    def recv(self, size: int) -> bytes:
        """At least one byte, unless the child has ended."""
        timer = threading.Timer(self._seconds, self._process.kill) if self._seconds else None
        if timer is not None:
            timer.daemon = True
            timer.start()
        try:
            return self._from.read(size)
        finally:
            if timer is not None:
                timer.cancel()

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def shutdown(self) -> None:
        """End the child."""
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        self._to.close()
        self._from.close()
