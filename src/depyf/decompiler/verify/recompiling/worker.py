"""A subprocess of another Python version that compiles source and nothing else.

One process per version, kept for the life of this one.  Request frame: mode, flags, optimisation level, length of the
source, length of the file's name (five little-endian 32-bit integers), then both in UTF-8.  Answer frame: status byte,
length, then marshalled code (status 0) or the message of the error (status 1).  The source is compiled, never executed.

That process belongs to depyf, which may change its settings: it compiles in a thread with a large stack, and without
warnings. The program around us does not notice it: it is no child of this process that ``os.wait`` could come upon, it
costs no thread (which ``threading`` would count), no write to it raises SIGPIPE, and forked children forget it.
"""

from __future__ import annotations

import atexit
import functools
import math
import os
import signal
import socket
import struct
import subprocess
import threading

from depyf.decompiler.verify.recompiling.interpreters import find_interpreter, own_interpreter
from depyf.decompiler.verify.recompiling.pipe_line import PipeLine
from depyf.errors import DepyfError
from depyf.safety.guarded import guarded

TIMEOUT = 60.0
NO_SIGNAL = getattr(socket, "MSG_NOSIGNAL", 0)
REQUEST = struct.Struct("<iiiii")
MODES = ("exec", "eval", "single")
ANSWER = struct.Struct("<Bi")
HELLO = struct.Struct("<i")
"""Its first message: its process id, if it has detached itself."""
CAN_DETACH = hasattr(os, "fork")
"""Not on Windows: there it is an ordinary child, which ``os.wait`` cannot come upon."""

SET = "depyf: a set, in its order"
"""Begins the tuple that encodes a constant set of numbers: marshal writes no set in the order in which it iterates."""

# Runs in the other interpreter: nothing newer than 3.8, no import besides builtins.
PROGRAM = r"""
import _ast, _signal, _thread, marshal, struct, sys
pid, alarm = 0, getattr(_signal, "alarm", id)  # without alarms the other side ends this process
if sys.argv[2:]:
    import posix
    if posix.fork():
        posix._exit(0)  # whoever started this has no child any more
    pid = posix.getpid()
patience = int(sys.argv[1])
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
        alarm(patience)  # the end of this process
        try:
            if mode == 2:  # this mode takes one statement; its tree holds any number
                text = _ast.Interactive(compile(text, name, "exec", flags | _ast.PyCF_ONLY_AST, True).body)
            code = compile(text, name, ("exec", "eval", "single")[mode], flags, True, optimize)
            status, data = 0, marshal.dumps(kept(code) if sets else code)
        except BaseException as error:
            told = "%s: %s" % (type(error).__name__, error)
            if isinstance(error, SyntaxError) and error.lineno:
                told = "%s: %s (line %d)" % (type(error).__name__, error.msg, error.lineno)
            status, data = 1, told.encode("utf-8", "backslashreplace")
        alarm(0)
        write(struct.pack("<Bi", status, len(data)) + data)
        flush()
def run():
    try:
        work()
    finally:
        done.release()
write(struct.pack("<i", pid))
flush()
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
    """One compiling process; ``compile`` may be called from any thread."""

    def __init__(self, python: str, timeout: float = TIMEOUT) -> None:
        self.python = python
        self.timeout = timeout
        self._lock = threading.Lock()
        self._socket: socket.socket | PipeLine | None = None
        self._handle: int | None = None
        """By which the process can be ended, where the system has such handles; else it ends itself."""

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

        With ``sets``, each constant set of numbers is encoded as a tuple that begins with ``SET``.
        """
        source, name = (part.encode("utf-8", "surrogatepass") for part in (text, filename))
        head = REQUEST.pack(MODES.index(mode) + 8 * sets, flags, optimize, len(source), len(name))
        with self._lock:
            try:
                status, data = self._exchange(self._running(), head + source + name)
            except OSError as error:
                self._stop()
                raise WorkerError(f"{self.python} died, or took over {self.timeout:g} s, compiling: {error}") from None
            except BaseException:  # Ctrl-C: what it answers now is the answer to no other question
                self._stop()
                raise
        if status:
            raise WorkerError(data.decode("utf-8", "replace"))
        return data

    def close(self) -> None:
        """End the process; a later ``compile`` starts a new one."""
        with self._lock:
            self._stop()

    def forget(self) -> None:
        """In a forked child: the process is the parent's."""
        if self._socket is not None:
            self._socket.close()
        if self._handle is not None:
            os.close(self._handle)
        self._socket = self._handle = None

    def _exchange(self, line: socket.socket | PipeLine, request: bytes) -> tuple[int, bytes]:
        left = memoryview(request)
        while left:
            left = left[line.send(left, NO_SIGNAL) :]
        status, length = ANSWER.unpack(_read(line, ANSWER.size))
        return status, _read(line, length)

    def _running(self) -> socket.socket | PipeLine:
        if self._socket is not None and not _is_alive(self._socket):
            self._stop()
        if self._socket is None:
            self._socket = self._start()
        self._socket.settimeout(self.timeout)
        return self._socket

    def _start(self) -> socket.socket | PipeLine:
        command = [self.python, "-I", "-S", "-W", "ignore", "-c", PROGRAM, str(math.ceil(self.timeout))]
        return self._start_detached([*command, "detached"]) if CAN_DETACH else self._start_child(command)

    def _start_child(self, command: list[str]) -> PipeLine:
        try:
            line = PipeLine(command)
            line.settimeout(TIMEOUT)
            _read(line, HELLO.size)
        except (OSError, ValueError) as error:
            raise WorkerError(f"cannot start {self.python}: {error}") from None
        return line

    def _start_detached(self, command: list[str]) -> socket.socket:
        line, end = socket.socketpair()
        try:
            with end:
                end.setblocking(True)  # the program may have set a timeout for all sockets
                subprocess.run(
                    command,
                    stdin=end.fileno(),
                    stdout=end.fileno(),
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,  # Ctrl-C at the terminal is for the program
                    check=False,
                )
            line.settimeout(TIMEOUT)
            (pid,) = HELLO.unpack(_read(line, HELLO.size))
        except BaseException as error:
            line.close()
            if isinstance(error, (OSError, ValueError)):
                raise WorkerError(f"cannot start {self.python}: {error}") from None
            raise
        if hasattr(os, "pidfd_open"):
            try:
                self._handle = os.pidfd_open(pid)
            except OSError:  # an old kernel
                pass
        return line

    def _stop(self) -> None:
        if isinstance(self._socket, PipeLine):
            self._socket.shutdown()
        elif self._socket is not None:
            try:
                self._socket.shutdown(socket.SHUT_RDWR)  # for a forked child that has it, too
            except OSError:
                pass  # it has ended
        if self._handle is not None:
            try:
                signal.pidfd_send_signal(self._handle, signal.SIGKILL)
            except OSError:
                pass
        self.forget()


def _is_alive(line: socket.socket | PipeLine) -> bool:
    """Whether the other end is open."""
    if isinstance(line, PipeLine):
        return line.alive
    line.settimeout(0)
    try:
        return bool(line.recv(1, socket.MSG_PEEK))
    except BlockingIOError:
        return True
    except OSError:
        return False


def _read(line: socket.socket | PipeLine, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        piece = line.recv(min(size - len(data), 1 << 20))
        if not piece:
            raise OSError("it ended")
        data += piece
    return bytes(data)


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
    """The worker of the interpreter that runs here; None in a program with Python built in, which cannot start one."""
    python = own_interpreter()
    return None if python is None else _worker(python)


def _worker(python: str) -> Worker:
    if not _workers:
        _forget_in_children()
    return _workers.setdefault((os.getpid(), python), Worker(python))


@functools.cache
def _forget_in_children() -> None:
    if CAN_DETACH:
        os.register_at_fork(after_in_child=_forget)


@guarded("a forked child")
def _forget() -> None:
    for worker in _workers.values():
        worker.forget()
    _workers.clear()


@atexit.register
@guarded("a process that compiles could not be ended")
def close_workers() -> None:
    """End every subprocess of this process."""
    for key, worker in list(_workers.items()):
        if key[0] == os.getpid():
            worker.close()
            del _workers[key]
