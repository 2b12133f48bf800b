"""The core on a system that has nothing of POSIX: Windows, faked by taking away what Linux has and it has not.

What the fake cannot show: paths with drives and backslashes, text mode, names of files that only differ in case.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import foreign
import needs

SRC = Path(__file__).resolve().parents[2] / "src"
TAKEN_AWAY = """
import os, select, signal, subprocess, shutil, socket, sys, tempfile  # the standard library itself may know where it runs
for name in ("fcntl", "resource", "termios", "pty", "pwd", "grp", "tty"):
    sys.modules[name] = None
POSIX = {
    os: "fork forkpty register_at_fork killpg setsid getuid geteuid sysconf posix_spawn O_NOFOLLOW O_NONBLOCK O_CLOEXEC O_DIRECTORY "
        "pidfd_open waitid sched_getaffinity setpgid fchmod fchown chown mkfifo wait getpgid",
    signal: "SIGKILL SIGHUP SIGCHLD SIGUSR1 SIGUSR2 SIGALRM SIGPIPE alarm pidfd_send_signal pthread_sigmask pthread_kill setitimer sigwait",
    select: "poll epoll kqueue",
    socket: "socketpair AF_UNIX MSG_NOSIGNAL",
}
for module, names in POSIX.items():
    for name in names.split():
        if hasattr(module, name):
            delattr(module, name)
subprocess.Popen.kill = lambda self: os.kill(self.pid, 9)
sys.path.insert(0, SRC)
import depyf
from depyf.cli import main
"""
PROGRAMS = {
    "a live function, proven": """
        def f(items, log):
            try:
                return [item for item in items if item]
            finally:
                log.close()
        print(depyf.decompile(f))
        print(depyf.decompile(lambda a: a is ()))  # by the other process: the compiler would warn
        """,
    "a .pyc of another Python": """
        print(main(["decompile", PYC, "-o", OUT]))
        from depyf.decompiler.verify.recompiling import worker
        print(*(type(one._socket).__name__ for one in worker._workers.values()))
        """,
    "a .pyc whose text is compiled by the other process": """
        print(main(["decompile", PYC, "-o", OUT]))
        from depyf.decompiler.verify.recompiling import worker
        print(*(type(one._socket).__name__ for one in worker._workers.values()))
        """,
    "a worker that never answers is ended": """
        from depyf.decompiler.verify.recompiling.worker import Worker, WorkerError
        slow = Worker(sys.executable)
        slow.compile("x = 1")
        slow.timeout = 0.2
        try:
            slow.compile("x = (" + "1," * 3000000 + ")")
            print("answered")
        except WorkerError as error:
            print("WorkerError" if "took over 0.2 s" in str(error) else error)
        slow.timeout = 60
        print(len(slow.compile("x = 1")) > 10)
        """,
}
SAID = {
    "a live function, proven": "return [item for item in items if item]",
    "a .pyc of another Python": "0\nPipeLine\n",
    "a .pyc whose text is compiled by the other process": "0\nPipeLine\n",
    "a worker that never answers is ended": "WorkerError\nTrue\n",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_core_without_posix(name: str, tmp_path: Path) -> None:
    version = needs.another() if "another" in name else needs.HOST
    pyc = tmp_path / "module.pyc"
    source = tmp_path / "module.py"
    source.write_text("def f(a):\n    with a as b:\n        return b is ()\n")
    pyc.write_bytes(foreign.compile_with(version, [source])[0])
    text = TAKEN_AWAY + "\n".join(line[8:] for line in PROGRAMS[name].split("\n"))
    for word, value in (("SRC", str(SRC)), ("PYC", str(pyc)), ("OUT", str(tmp_path / "out"))):
        text = text.replace(word, repr(value))
    program = tmp_path / "program.py"
    program.write_text(text)
    done = subprocess.run([sys.executable, "-W", "ignore", program], capture_output=True, text=True, timeout=300)
    assert SAID[name] in done.stdout, done.stdout + done.stderr
    assert done.returncode == 0 and "Traceback" not in done.stderr
