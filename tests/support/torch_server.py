"""A process that has imported torch, and forks for each program that it is asked to run.  ``with_torch.py`` starts it.

    python [OPTION ...] torch_server.py SOCKET MODULE ...

A program finds what it would find in a process of its own: files 0 to 2, folder, environment, arguments, import path and
``__main__``, and its end is the interpreter's own.  What differs: the modules are imported already, ``gc`` does
not look at what they made then, frames of this file are at the bottom of its stack, and Ctrl-C is heard, also where the tests
run in the background.
"""

from __future__ import annotations

import contextlib
import fcntl
import gc
import importlib
import importlib.machinery
import io
import json
import os
import random
import runpy
import select
import shutil
import signal
import socket
import sys
import termios
import types
from typing import Any, cast


def received(connection: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """A request, and the files of the program."""
    head, files, *_ = socket.recv_fds(connection, 8, 3)
    text, size = b"", int.from_bytes(head, "big")
    while len(text) < size:
        text += connection.recv(size - len(text))
    return json.loads(text), files


def serve(listening: socket.socket) -> dict[str, Any] | None:
    """Start what is asked for, and tell how it ended.  In the process of a program: what to run; None when nobody asks any more.

    A connection is one program: the request comes, the number of its process goes back, and at its end its status.
    """
    ended, waker = os.pipe()
    os.set_blocking(waker, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(waker)
    running: dict[int, socket.socket] = {}
    gone: list[int] = []
    while True:
        ready = select.select([listening, ended, 0, *running.values()], [], [])[0]
        if 0 in ready:  # the other end of this pipe was closed
            return None
        for process in [process for process, connection in running.items() if connection in ready]:
            os.kill(process, signal.SIGKILL)  # who asked for it has ended
            gone.append(process)
            running.pop(process).close()
        if ended in ready:
            os.read(ended, 512)
            for process in (*running, *gone):
                found, status = os.waitpid(process, os.WNOHANG)
                if found and process in gone:
                    gone.remove(process)
                elif found:
                    with contextlib.suppress(OSError), running.pop(process) as connection:
                        connection.sendall(b"%d\n" % os.waitstatus_to_exitcode(status))
        if listening in ready:
            connection = listening.accept()[0]
            request, files = received(connection)
            threads = len(os.listdir("/proc/self/task"))
            if threads != 1:
                raise RuntimeError(f"{threads} threads: only one of them would be there after a fork")
            process = os.fork()
            if process == 0:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                for other in (listening, connection, *running.values()):
                    other.close()
                os.close(ended)
                os.close(waker)
                for number, file in enumerate(files):
                    os.dup2(file, number)
            for file in files:
                os.close(file)
            if process == 0:
                return request
            running[process] = connection
            connection.sendall(b"%d\n" % process)


def prepare(request: dict[str, Any]) -> None:
    """Give the process what its program was started with."""
    if request["terminal"]:  # file 0 is one: the signals of its keys are for this process
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    cast(io.TextIOWrapper, sys.stdout).reconfigure(line_buffering=os.isatty(1))
    random.seed()
    if numpy := sys.modules.get("numpy"):
        numpy.random.seed()
    sys.executable = request["executable"] or sys.executable
    what, arguments = request["what"], request["arguments"]
    sys.argv = [{"code": "-c", "module": "-m"}.get(what, request["target"]), *arguments]
    sys.orig_argv = [sys.executable, *request["command"]]
    known = sys.path if sys.flags.isolated else sys.path[1:]  # this file's folder
    given = os.environ.get("PYTHONPATH") if not sys.flags.ignore_environment else None
    first = {"code": "", "module": os.getcwd(), "script": os.path.dirname(os.path.realpath(request["target"]))}[what]
    sys.path[:] = [
        *([] if sys.flags.isolated else [first]),
        *(map(os.path.abspath, given.split(os.pathsep)) if given else ()),
        *known,
    ]


def run(request: dict[str, Any]) -> None:
    """The program, as ``__main__``; its exception is shown without a frame of ours."""
    main = sys.modules["__main__"] = types.ModuleType("__main__")
    target = request["target"]
    try:
        if request["what"] == "module":
            runpy._run_module_as_main(target)  # type: ignore[attr-defined]  # it is what `python -m` calls
        elif request["what"] == "code":
            main.__loader__ = importlib.machinery.BuiltinImporter
            exec(compile(target, "<string>", "exec", dont_inherit=True), main.__dict__)
        else:
            file = os.path.abspath(target)
            main.__file__ = file
            main.__loader__ = importlib.machinery.SourceFileLoader("__main__", file)
            vars(main)["__cached__"] = None
            with io.open_code(file) as source:
                text = source.read()
            exec(compile(text, file, "exec", dont_inherit=True), main.__dict__)
    except (SystemExit, KeyboardInterrupt):
        raise
    except BaseException as error:
        error.__traceback__ = error.__traceback__ and error.__traceback__.tb_next
        sys.excepthook(type(error), error, error.__traceback__)
        sys.exit(1)


if __name__ == "__main__":
    for name in sys.argv[2:]:
        importlib.import_module(name)
    if isa := sys.modules.get("torch._inductor.cpu_vec_isa"):
        isa.valid_vec_isa_list()  # what the processor can do: with an empty cache each process would compile to find out
    gc.freeze()  # else each program, and its end, searches all that torch made: a second
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(sys.argv[1])
        sock.listen()
        print("ready", flush=True)
        asked = serve(sock)
    if asked is None:
        shutil.rmtree(os.path.dirname(sys.argv[1]), ignore_errors=True)
        os._exit(0)
    prepare(asked)
    run(asked)
