"""A subprocess of another Python version that compiles source and nothing else.

One process per version, kept for the life of this one.  Request frame: mode, flags, optimisation level, length of the source,
length of the file's name (five little-endian 32-bit integers), then both in UTF-8.  Answer frame: status byte, length, then
marshalled code (status 0) or the message of the error (status 1).  The source is compiled, never executed.

The settings of that process are ours: it compiles in a thread with a stack for text that nests deeply, and is silent.
"""

from __future__ import annotations

import atexit
import os
import struct
import subprocess
import threading

from depyf.errors import DepyfError
from depyf.verify.run.interpreters import find_interpreter, own_interpreter

TIMEOUT = 60.0
REQUEST = struct.Struct("<iiiii")
MODES = ("exec", "eval", "single")
ANSWER = struct.Struct("<Bi")

SET = "depyf: a set, in its order"
"""Begins the tuple that stands for a constant set of numbers: marshal writes no set in the order in which it iterates."""

# Runs in the other interpreter: nothing newer than 3.8, no import besides builtins.
PROGRAM = r"""
import _ast, _thread, marshal, struct, sys
read, write, flush = sys.stdin.buffer.read, sys.stdout.buffer.write, sys.stdout.buffer.flush
code_type = type((lambda: 0).__code__)
def ordered(item):
    return all(map(ordered, item)) if type(item) is tuple else type(item) in (int, bool, float, complex)
def kept(item):
    if type(item) is frozenset and all(map(ordered, item)):
        return ("depyf: a set, in its order",) + tuple(item)
    if type(item) is tuple or type(item) is code_type:
        parts = item if type(item) is tuple else item.co_consts
        new = tuple(map(kept, parts))
        if any(one is not other for one, other in zip(new, parts)):
            return new if type(item) is tuple else item.replace(co_consts=new)
    return item
def work():
    while True:
        head = read(20)
        if len(head) < 20:
            break
        mode, flags, optimize, length, named = struct.unpack("<iiiii", head)
        sets, mode = divmod(mode, 8)
        text = read(length).decode("utf-8", "surrogatepass")
        name = read(named).decode("utf-8", "surrogatepass")
        try:
            if mode == 2:  # this mode takes one statement; its tree holds any number
                text = _ast.Interactive(compile(text, name, "exec", flags | _ast.PyCF_ONLY_AST, True).body)
            code = compile(text, name, ("exec", "eval", "single")[mode], flags, True, optimize)
            status, data = 0, marshal.dumps(kept(code) if sets else code)
        except BaseException as error:
            status, data = 1, ("%s: %s" % (type(error).__name__, error)).encode("utf-8", "backslashreplace")
        write(struct.pack("<Bi", status, len(data)) + data)
        flush()
def run():
    try:
        work()
    finally:
        done.release()
done = _thread.allocate_lock()
done.acquire()
for megabytes, limit in ((1024, 300000), (256, 70000), (64, 15000), (8, 1500), (0, 1000)):
    try:
        _thread.stack_size(megabytes << 20)
        sys.setrecursionlimit(limit)
        _thread.start_new_thread(run, ())
        break
    except (ValueError, RuntimeError):
        pass
done.acquire()
"""


class WorkerError(DepyfError):
    """The other interpreter is missing, died, or refused the source."""


class Worker:
    """One compiling subprocess; ``compile`` may be called from any thread."""

    def __init__(self, python: str, timeout: float = TIMEOUT) -> None:
        self.python = python
        self.timeout = timeout
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def compile(
        self,
        text: str,
        flags: int = 0,
        optimize: int = 0,
        mode: str = "exec",
        filename: str = "<depyf>",
        *,
        sets: bool = False,
    ) -> bytes:
        """Marshalled code of the module ``text``; ``WorkerError`` with the compiler's message if it refuses.

        With ``sets``, a tuple that begins with ``SET`` stands for each constant set of numbers.
        """
        source, name = (part.encode("utf-8", "surrogatepass") for part in (text, filename))
        head = REQUEST.pack(MODES.index(mode) + 8 * sets, flags, optimize, len(source), len(name))
        with self._lock:
            process = self._running()
            timer = threading.Timer(self.timeout, process.kill)
            timer.daemon = True
            timer.start()
            try:
                status, data = self._exchange(process, head + source + name)
            except (OSError, struct.error) as error:
                self._stop()
                raise WorkerError(f"{self.python} died, or took over {self.timeout:g} s, compiling: {error}") from None
            except BaseException:  # Ctrl-C: what it answers now is the answer to no other question
                self._stop()
                raise
            finally:
                timer.cancel()
        if status:
            raise WorkerError(data.decode("utf-8", "replace"))
        return data

    def close(self) -> None:
        """End the subprocess; a later ``compile`` starts a new one."""
        with self._lock:
            self._stop()

    def _exchange(self, process: subprocess.Popen[bytes], request: bytes) -> tuple[int, bytes]:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(request)
        process.stdin.flush()
        status, length = ANSWER.unpack(process.stdout.read(ANSWER.size))
        data = process.stdout.read(length)
        if len(data) != length:
            raise OSError("the answer is cut short")
        return status, data

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self._stop()
            try:
                self._process = subprocess.Popen(
                    [self.python, "-I", "-S", "-W", "ignore", "-c", PROGRAM],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,  # Ctrl-C at the terminal is for the program
                )
            except OSError as error:
                raise WorkerError(f"cannot start {self.python}: {error}") from None
        return self._process

    def _stop(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                try:
                    pipe.close()
                except OSError:
                    pass  # an unsent request dies with its reader
        process.wait()


_workers: dict[tuple[int, str], Worker] = {}
"""By the process that started it, for a forked child must not speak to its parent's, and interpreter."""


def worker_for(version: tuple[int, int]) -> Worker:
    """The worker of ``version``; ``WorkerError`` where no such interpreter is found."""
    python = find_interpreter(version)
    if python is None:
        wanted = f"{version[0]}.{version[1]}"
        raise WorkerError(
            f"no Python {wanted} found to recompile with: put python{wanted} on the PATH, or name it with --python"
        )
    return _worker(python)


def own_worker() -> Worker | None:
    """The worker of the interpreter that runs here; None where a program has it built in, and there is none to start."""
    python = own_interpreter()
    return None if python is None else _worker(python)


def _worker(python: str) -> Worker:
    return _workers.setdefault((os.getpid(), python), Worker(python))


@atexit.register
def close_workers() -> None:
    """End every subprocess of this process."""
    for key, worker in list(_workers.items()):
        if key[0] == os.getpid():
            worker.close()
            del _workers[key]
