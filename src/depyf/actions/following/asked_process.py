"""Asks a process what torch.compile does in it: ``depyf attach``.

Input: the number of a process of the same user.  Output: what it answered, as plain data; DepyfError where it cannot be
asked, or does not answer.  Two ways: the process runs our text at the next line of Python of its main thread
(``sys.remote_exec``, PEP 768: Python 3.14 and newer, the same version on both sides), or it was started with ``depyf
run --answer-on SIGNAL`` and runs it when that signal comes.  The answer is read as a literal, never executed.
"""

from __future__ import annotations

import ast
import contextlib
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from depyf.actions.following.inside_process import FORMAT
from depyf.actions.following.offered_signal import answer_file, inside_text, offer_of
from depyf.errors import DepyfError
from depyf.safety.escape import printable
from depyf.safety.unheard import parse

_LOOKS_EVERY = 0.05
_MOST = 1 << 28


def ask(pid: int, seconds: float) -> dict[str, Any]:
    """The answer of process ``pid`` within ``seconds``, as JSON values.  DepyfError for a process that does not exist,
    does not answer, or was not started to do so."""
    if not _alive(pid):
        raise DepyfError(f"there is no process {pid}")
    number = offer_of(pid)
    if number is not None:
        return _by_signal(pid, number, seconds)
    if hasattr(sys, "remote_exec"):
        return _by_remote_exec(pid, seconds)
    raise DepyfError(
        f"process {pid} was not started with `depyf run --answer-on SIGNAL`, and this Python cannot ask others: that "
        "needs Python 3.14 on both sides"
    )


def _by_signal(pid: int, number: int, seconds: float) -> dict[str, Any]:
    path = answer_file(pid)
    try:
        path.write_bytes(b"")
        os.kill(pid, number)
        return _answer(path, pid, seconds)
    except ProcessLookupError as error:
        raise DepyfError(f"there is no process {pid}") from error
    finally:
        with contextlib.suppress(OSError):
            path.unlink()


def _by_remote_exec(pid: int, seconds: float) -> dict[str, Any]:
    folder = Path(tempfile.mkdtemp(prefix="depyf-attach-"))
    path, script = folder / "answer", folder / "inside.py"
    path.write_bytes(b"")
    script.write_text(inside_text(str(path), str(script)), encoding="utf-8")
    _give_to_owner(pid, folder, path, script)
    answered = False
    try:
        _remote_exec(pid, str(script))
        found = _answer(path, pid, seconds)
        answered = True
        return found
    except _NotAskedError:
        answered = True  # nothing of ours is run there
        raise
    finally:
        with contextlib.suppress(OSError):
            path.unlink()  # the text does nothing then, and removes itself
        if answered or not _alive(pid):
            shutil.rmtree(folder, ignore_errors=True)


class _NotAskedError(DepyfError):
    """The process cannot be asked."""


def _remote_exec(pid: int, script: str) -> None:
    execute: Any = getattr(sys, "remote_exec", None)
    try:
        execute(pid, script)
    except ProcessLookupError as error:
        raise _NotAskedError(f"there is no process {pid}") from error
    except PermissionError as error:
        raise _NotAskedError(
            f"process {pid} may not be asked: that needs the rights of a debugger (the same user, and "
            "/proc/sys/kernel/yama/ptrace_scope 0, or root)"
        ) from error
    except (RuntimeError, OSError, ValueError) as error:
        python = ".".join(map(str, sys.implementation.version[:2]))
        raise _NotAskedError(
            f"process {pid} cannot be asked: {printable(str(error))}. It has to run Python {python}, as this one does, "
            "with remote debugging not switched off"
        ) from error


def _give_to_owner(pid: int, folder: Path, *files: Path) -> None:
    """Where root asks the process of another user, that one has to read and write."""
    with contextlib.suppress(OSError, AttributeError):
        owner = os.stat(f"/proc/{pid}")
        if os.geteuid() == 0 and owner.st_uid != 0:
            for one in (folder, *files):
                os.chown(one, owner.st_uid, owner.st_gid)


def _answer(path: Path, pid: int, seconds: float) -> dict[str, Any]:
    end = time.monotonic() + seconds
    while True:
        data = path.read_bytes() if path.stat().st_size <= _MOST else b""
        if data:
            return _read(data, pid)
        if not _alive(pid):
            raise DepyfError(f"process {pid} has ended")
        if time.monotonic() > end:
            raise DepyfError(
                f"process {pid} did not answer within {seconds:g} s: it answers between two lines of Python of its "
                "main thread, which waits for something or runs native code; --seconds waits longer"
            )
        time.sleep(_LOOKS_EVERY)


def _read(data: bytes, pid: int) -> dict[str, Any]:
    try:
        found = ast.literal_eval(parse(data.decode("utf-8"), "eval"))
    except (ValueError, SyntaxError, RecursionError, MemoryError) as error:
        raise DepyfError(f"the answer of process {pid} cannot be read ({type(error).__name__})") from error
    if type(found) is not dict or found.get("format") != FORMAT:
        raise DepyfError(f"process {pid} answers as another version of depyf")
    if "problem" in found:
        raise DepyfError(f"process {pid} could not tell: {printable(str(found['problem']))}")
    return found


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
