"""The process that compiles is there, and the program around us cannot tell: threads, children, warnings, signals, forks."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

SRC = Path(__file__).resolve().parents[5] / "src"
BEGIN = """
import gc, os, signal, sys, threading, warnings
sys.path.insert(0, SRC)
import depyf
from depyf.decompiler.verify.recompiling import worker
def warned(a):
    return a is ()  # compiled by the other process: the compiler would warn
TEXT = "def warned(a):\\n    return a is ()\\n"
def in_thread(work):
    thread = threading.Thread(target=work, name="mine")
    thread.start()
    thread.join()
def check():
    assert depyf.decompile(warned) == TEXT and worker._workers
"""


def run(program: str, *options: str) -> subprocess.CompletedProcess[str]:
    text = textwrap.dedent(BEGIN).replace("SRC", repr(str(SRC))) + textwrap.dedent(program)
    command = [sys.executable, "-W", "ignore::SyntaxWarning", *options, "-c", text]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


PROGRAMS = {
    "threads keep their numbers": """
        number = threading.Thread().name
        check()
        in_thread(check)
        known = len(threading._active)
        print(number, threading.Thread().name, threading.enumerate() == [threading.main_thread()], known)
        assert threading.Thread().name == "Thread-3"
        """,
    "no child to wait for": """
        check()
        try:
            pid = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            print("none")
        """,
    "a child that leaves by itself": """
        check()
        if os.fork() == 0:
            sys.exit(0)  # all objects are taken apart
        assert os.wait()[1] == 0
        check()
        """,
    "children that decompile, too": """
        check()
        pids = []
        for _ in range(3):
            pid = os.fork()
            if pid == 0:
                check()
                sys.exit(7)
            pids.append(pid)
        assert [os.waitpid(pid, 0)[1] >> 8 for pid in pids] == [7, 7, 7]
        check()
        """,
    "a child forked while another thread asks": """
        over = threading.Event()
        def work():
            while not over.is_set():
                check()
        check()
        threads = [threading.Thread(target=work) for _ in range(2)]
        for thread in threads: thread.start()
        for _ in range(10):
            pid = os.fork()
            if pid == 0:
                check()
                os._exit(7)
            assert os.waitpid(pid, 0)[1] >> 8 == 7
        over.set()
        for thread in threads: thread.join()
        """,
    "a process that has gone, and SIGPIPE": """
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        check()
        for found in worker._workers.values():
            found._socket.shutdown(2)
        check()
        alive, worker._is_alive = worker._is_alive, lambda line: True
        for found in worker._workers.values():
            found._socket.shutdown(2)
            try:
                found.compile("x")
            except worker.WorkerError as error:
                print(error)
        worker._is_alive = alive
        check()
        """,
    "SIGCHLD is ignored": """
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        check()
        """,
    "sockets of the program have a timeout": """
        import socket
        socket.setdefaulttimeout(1e-6)
        check()
        assert socket.getdefaulttimeout() == 1e-6
        """,
    "an interpreter by its name": """
        changes = []
        simplefilter = warnings.simplefilter
        warnings.simplefilter = lambda *args, **named: (changes.append(args), simplefilter(*args, **named))
        os.environ["PATH"] = os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"]
        from depyf.decompiler.verify.recompiling import interpreters
        assert interpreters.register(os.path.basename(sys.executable)) == sys.version_info[:2]
        found = worker._worker(interpreters._registered[0])
        assert found.compile("x")
        assert not changes
        """,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_program_does_not_notice(name: str) -> None:
    forks = "ignore:This process (:DeprecationWarning"  # 3.12 and later warn of a fork beside threads
    done = run(PROGRAMS[name], "-X", "dev", "-W", forks)
    assert done.returncode == 0 and not done.stderr, (done.stdout, done.stderr)
