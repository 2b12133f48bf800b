"""A signal on which a process says what torch.compile does in it: ``depyf run --answer-on SIGNAL``.

Input: the name of a signal that the user chose.  Output: while the program runs, its handler answers ``depyf attach``.
The offer is a file in a folder of the user's, held by a lock that goes with the process, and names when the process
began: the signal is sent to no other one that got its number later.
"""

from __future__ import annotations

import contextlib
import os
import signal
import stat
import sys
import tempfile
import types
from collections.abc import Iterator
from pathlib import Path

from depyf.errors import DepyfError
from depyf.safety.guarded import Door

ANNOTATIONS = annotations.compiler_flag
_LONGEST = 200
_LEFT_ALONE = ("SIGINT", "SIGKILL", "SIGSTOP", "SIGCHLD", "SIGSEGV", "SIGFPE", "SIGILL", "SIGBUS", "SIGABRT")
"""What no program can catch, or means something else to every one."""


def signal_of(name: str) -> int:
    """The number of the signal ``SIGUSR1`` or ``USR1``.  DepyfError for an unknown signal, or one that cannot be
    used."""
    whole = name.upper() if name.upper().startswith("SIG") else f"SIG{name.upper()}"
    found = getattr(signal, whole, None)
    if not isinstance(found, signal.Signals) or os.name == "nt":
        raise DepyfError(f"--answer-on {name}: this system has no such signal")
    if whole in _LEFT_ALONE:
        raise DepyfError(f"--answer-on {name}: this signal has another meaning: take SIGUSR1, or one of SIGRTMIN")
    return int(found)


def inside_text(path: str, own: str = "") -> str:
    """The text that answers into ``path``; ``own``: the file that it stands in.  Its annotations are for readers:
    before Python 3.14 it is compiled with ``ANNOTATIONS``."""
    text = Path(__file__).with_name("inside_process.py").read_text(encoding="utf-8")
    text = text.replace("from __future__ import annotations\n", "")  # which would load a module
    return f"{text}\n\nanswer({path!r}, __import__('sys').modules, {own!r})\n"


def answer_file(pid: int) -> Path:
    """The file into which process ``pid`` writes its answer."""
    return _folder() / f"{pid}.answer"


@contextlib.contextmanager
def offered(number: int) -> Iterator[None]:
    """While the block lasts, this process answers when the signal comes; afterwards the signal does what it did."""
    pid = os.getpid()
    code = compile(inside_text(str(answer_file(pid))), "<depyf attach>", "exec", ANNOTATIONS)
    offer = _folder() / str(pid)
    handle = _offer(offer, number)

    def tell(signum: int, frame: types.FrameType | None) -> None:
        if os.getpid() == pid:  # a forked child has the handler, too
            with Door("depyf: the process could not answer"):
                exec(code, {"__name__": "depyf.actions.following.inside"})

    before = signal.signal(number, tell)
    try:
        yield
    finally:
        if signal.getsignal(number) is tell:
            signal.signal(number, before if before is not None else signal.SIG_DFL)
        if os.getpid() == pid:
            with contextlib.suppress(OSError):
                offer.unlink()
        os.close(handle)


def offer_of(pid: int) -> int | None:
    """The signal on which process ``pid`` answers; None where it offers none."""
    try:
        offer = _folder() / str(pid)
        handle = os.open(offer, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
    except OSError:
        return None
    try:
        if not _held(handle):
            return None
        number, _, began = os.read(handle, _LONGEST).decode("ascii").partition(" ")
        return int(number) if began == _began(pid) else None
    except (OSError, ValueError):
        return None
    finally:
        os.close(handle)


def _offer(path: Path, number: int) -> int:
    with contextlib.suppress(OSError):
        path.unlink()  # of a process that was killed, and had the same number
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o600)
        os.write(handle, f"{number} {_began(os.getpid())}".encode("ascii"))
        _lock(handle)
    except OSError as error:
        raise DepyfError(f"--answer-on: {path}: {error.strerror or error}") from error
    return handle


def _lock(handle: int) -> None:
    import fcntl  # no system with signals lacks it

    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _held(handle: int) -> bool:
    try:
        _lock(handle)
    except BlockingIOError:
        return True
    except ImportError:
        return False
    return False


def _began(pid: int) -> str:
    """When a process began, in ticks since the system did; "" where the system does not say."""
    try:
        after = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
        return after[19].decode("ascii")
    except (OSError, IndexError, ValueError):
        return ""


def _folder() -> Path:
    """The user's own folder for offers; DepyfError where another one has made it."""
    user = os.getuid() if sys.platform != "win32" else 0
    folder = Path(tempfile.gettempdir()) / f"depyf-attach-of-{user}"
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or (sys.platform != "win32" and found.st_uid != user):
        raise DepyfError(f"{folder} is not a folder of this user")
    return folder
