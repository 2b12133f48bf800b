"""Writes files whole or not at all, without ever raising into the user's program.

Input: text.  Output invariant: after ``write`` returns True the file holds exactly the text; after False nothing
changed, the problem is in ``problems`` and the caller carries on.  No link in the folder is followed: what had the name
before is replaced.  ``UNFINISHED`` lists the files of a run that has not finished, so that the next one can remove
them.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path

from depyf.errors import DepyfError
from depyf.run.files.checksums import line_checksums, whole_checksum
from depyf.run.files.layout import OF_CODE
from depyf.run.files.reading import MOST_MANIFEST
from depyf.safety.escape import printable

UNFINISHED = ".depyf-unfinished"
_TEMPORARY = re.compile(r"\.depyf-[\w-]+\.tmp")
_ANY = (
    os.O_WRONLY
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
)
_NEW, _MORE = _ANY | os.O_CREAT | os.O_EXCL, _ANY | os.O_APPEND
_READ = _ANY & ~os.O_WRONLY | os.O_RDONLY


class DumpWriter:
    """Writes into one directory; remembers what it wrote and what it could not."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._start = os.path.join(directory, "")
        self.written: dict[str, None] = {}
        self.texts: dict[str, tuple[str, str]] = {}
        """File that can be edited -> checksums of the whole text and of its lines, as it was written last."""
        self.problems: list[str] = []
        self._lock = threading.Lock()
        self._unfinished = -1

    @classmethod
    def open(cls, directory: str | os.PathLike[str], below: str | os.PathLike[str] = "") -> DumpWriter:
        """Create the directory and check that it can be written to, before the program runs.  ``below``: a folder in it
        that depyf writes to; no part of its path may be a link.  DepyfError where that is not possible."""
        try:
            os.fspath(Path(directory).absolute()).encode()  # torch takes no other names of files, and is given them
            path = make_folder(Path(directory).absolute(), Path(below))
            handle, probe = tempfile.mkstemp(prefix=".depyf-", suffix=".tmp", dir=path)
            try:
                os.write(handle, b"probe")
            finally:
                os.close(handle)
                os.unlink(probe)
        except (OSError, TypeError, ValueError) as error:
            shown = str(directory) if isinstance(directory, os.PathLike) else directory
            said = (isinstance(error, OSError) and error.strerror) or error
            raise DepyfError(f"cannot write to the dump directory {shown!r}: {said}") from error
        return cls(path)

    def path(self, name: str) -> Path:
        return self.directory / name

    def adopt(self, name: str, text: str) -> None:
        """The file ``name`` with ``text`` was written by the process that is dead, whose dump this is."""
        self.written[name] = None
        if name.startswith(OF_CODE):
            self.texts[name] = whole_checksum(text), line_checksums(text)

    def begin(self) -> None:
        """Mark the dump as unfinished, until ``end`` is called."""
        with contextlib.suppress(OSError):  # without it, what a killed run leaves is left
            handle = os.open(self._start + UNFINISHED, _MORE | os.O_CREAT, 0o666)
            try:
                _claim(handle)
                os.write(handle, "".join(f"{name}\n" for name in self.written).encode("utf-8", "backslashreplace"))
            except OSError:
                os.close(handle)
                raise
            self._unfinished = handle

    def end(self, complete: bool) -> None:
        """Mark the dump as finished.  ``complete``: whether the manifest lists its files."""
        with self._lock:
            handle, self._unfinished = self._unfinished, -1
        if handle >= 0:
            with contextlib.suppress(OSError):
                os.close(handle)
                if complete:
                    os.unlink(self._start + UNFINISHED)

    def note(self, name: str) -> None:
        """``name`` is about to be made, by this process or by a child of it."""
        if self._unfinished >= 0:
            with contextlib.suppress(OSError):
                os.write(self._unfinished, f"{name}\n".encode("utf-8", "backslashreplace"))

    def write(self, name: str, text: str | Sequence[memoryview]) -> bool:
        """Write text, or the parts of a file that is none, to the file ``name``; False where that was not possible."""
        if name not in self.written:
            self.note(name)
        try:
            write_whole(self._start + name, text)
        except OSError as error:
            self._problem(name, error)
            return False
        with self._lock:
            self.written[name] = None
            if isinstance(text, str) and name.startswith(OF_CODE):
                self.texts[name] = whole_checksum(text), line_checksums(text)
        return True

    def append(self, name: str, text: str) -> bool:
        """Add to a file written earlier, at little cost; False where not all of it could be added."""
        try:
            _put(self._start + name, _MORE, text)
        except OSError as error:
            self._problem(name, error)
            return False
        return True

    def remove(self, name: str) -> None:
        """Take back a file written earlier in this run (a compile attempt that torch restarted)."""
        with self._lock:
            known = self.written.pop(name, 0) is None
        if known:
            try:
                (self.directory / name).unlink(missing_ok=True)
            except OSError as error:
                self.problems.append(f"{name}: stale, and could not be removed: {error.strerror}")

    def _problem(self, name: str, error: OSError) -> None:
        problem = f"{name}: {error.strerror or type(error).__name__}"
        with self._lock:
            if problem not in self.problems:
                self.problems.append(problem)


def write_whole(path: str, text: str | Sequence[memoryview]) -> None:
    """Make ``path`` hold ``text`` (or bytes in parts), or raise OSError and leave it as it was.

    What is there is replaced, never written through: a link, too.
    """
    folder = os.path.dirname(path)
    temporary = os.path.join(folder, f".depyf-{os.getpid()}-{threading.get_ident()}.tmp")
    try:
        try:
            _write_text(temporary, text)
        except FileExistsError:  # of a process that was killed, and had the same number
            os.unlink(temporary)
            _write_text(temporary, text)
        os.replace(temporary, path)
    except OSError:
        with contextlib.suppress(OSError):  # it was not made, or the disk is gone: nothing to tidy up
            os.unlink(temporary)
        raise


def _write_text(path: str, text: str | Sequence[memoryview]) -> None:
    """The one place that makes a file (tests replace it to simulate a full disk)."""
    _put(path, _NEW, text)


def _put(path: str, flags: int, text: str | Sequence[memoryview]) -> None:
    parts = [memoryview(text.encode("utf-8", "backslashreplace"))] if isinstance(text, str) else text
    file = os.open(path, flags, 0o666)  # a file object takes as long again as the system does
    try:
        if flags == _MORE and not stat.S_ISREG(os.fstat(file).st_mode):
            raise OSError(errno.EINVAL, "it is no ordinary file")
        for data in parts:
            while data:
                data = data[os.write(file, data) :]
    finally:
        os.close(file)


def make_folder(root: Path, relative: Path) -> Path:
    """``root/relative`` as a folder, each part of ``relative`` made where it is missing; DepyfError where one is a link
    or no folder."""
    place = root
    place.mkdir(parents=True, exist_ok=True)
    for part in relative.parts:
        place = place / part
        if place.is_symlink():
            raise DepyfError(f"{printable(str(place))} is a symbolic link: depyf does not write through it")
        place.mkdir(exist_ok=True)
    return place


def _claim(handle: int) -> None:
    """Mark the list as one of a living process, if the system can: the mark goes when the process does."""
    try:
        import fcntl
    except ImportError:
        return
    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


def is_going_on(directory: Path) -> bool:
    """Whether a process is alive that writes a dump into ``directory``, as far as the system tells."""
    try:
        handle = os.open(directory / UNFINISHED, _READ)
    except OSError:
        return False
    try:
        _claim(handle)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(handle)
    return False


def unfinished_files(directory: Path) -> list[str]:
    """What a run left in ``directory`` that did not finish: the names in its list, the list itself last.

    Empty where there is none, or where a process of that run is alive.
    """
    try:
        handle = os.open(directory / UNFINISHED, _READ)
    except OSError:
        return []
    try:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            return []
        _claim(handle)
        text = os.read(handle, min(found.st_size, MOST_MANIFEST)).decode("utf-8", "replace")
        names = [entry.name for entry in os.scandir(directory) if _TEMPORARY.fullmatch(entry.name)]
    except OSError:
        return []
    finally:
        os.close(handle)
    return [*dict.fromkeys(text.split("\n")), *names, UNFINISHED]
