"""Files written whole or not at all, and never at the price of the user's program.

Input: text.  Output invariant: after ``write`` returns True the file holds exactly the text; after False nothing
changed, the problem is in ``problems`` and the caller carries on.
"""

from __future__ import annotations

import os
import tempfile
import threading
from pathlib import Path

from depyf.errors import DepyfError

_ANY = os.O_WRONLY | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_NEW, _MORE = _ANY | os.O_TRUNC, _ANY | os.O_APPEND


class DumpWriter:
    """Writes into one directory; remembers what it wrote and what it could not."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._start = os.path.join(directory, "")
        self.written: dict[str, None] = {}
        self.problems: list[str] = []
        self._lock = threading.Lock()

    @classmethod
    def open(cls, directory: str | os.PathLike[str]) -> DumpWriter:
        """Create the directory and prove that it can be written to, before anything of the user runs."""
        try:
            path = Path(directory).absolute()
            path.mkdir(parents=True, exist_ok=True)
            handle, probe = tempfile.mkstemp(prefix=".depyf-", dir=path)
            try:
                os.write(handle, b"probe")
            finally:
                os.close(handle)
                os.unlink(probe)
        except (OSError, TypeError, ValueError) as error:
            shown = str(directory) if isinstance(directory, os.PathLike) else directory
            raise DepyfError(f"cannot write to the dump directory {shown!r}: {error}") from error
        return cls(path)

    def path(self, name: str) -> Path:
        return self.directory / name

    def write(self, name: str, text: str) -> bool:
        """Write ``text`` to the file ``name``; False where that was not possible."""
        temporary = f"{self._start}.{name[:80]}.{os.getpid()}.{threading.get_ident()}.tmp"
        try:
            _write_text(temporary, text)
            os.replace(temporary, self._start + name)
        except OSError as error:
            with self._lock:
                self.problems.append(f"{name}: {error.strerror or type(error).__name__}")
            try:
                os.unlink(temporary)
            except OSError:
                pass  # it was not made, or the disk is gone: nothing to tidy up
            return False
        with self._lock:
            self.written[name] = None
        return True

    def append(self, name: str, text: str) -> None:
        """Add to a file written earlier, at little cost; what cannot be added is left out."""
        try:
            _put(self._start + name, _MORE, text)
        except OSError as error:
            with self._lock:
                self.problems.append(f"{name}: {error.strerror or type(error).__name__}")

    def remove(self, name: str) -> None:
        """Take back a file written earlier in this run (a compile attempt that torch restarted)."""
        with self._lock:
            known = self.written.pop(name, 0) is None
        if known:
            try:
                (self.directory / name).unlink(missing_ok=True)
            except OSError as error:
                self.problems.append(f"{name}: stale, and could not be removed: {error.strerror}")


def _write_text(path: str, text: str) -> None:
    """The one place that makes a file (tests replace it to simulate a full disk)."""
    _put(path, _NEW, text)


def _put(path: str, flags: int, text: str) -> None:
    data = memoryview(text.encode("utf-8", "backslashreplace"))
    file = os.open(path, flags, 0o666)  # a file object takes as long again as the system does
    try:
        while data:
            data = data[os.write(file, data) :]
    finally:
        os.close(file)
