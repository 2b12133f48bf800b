"""Python programs that import torch, run in processes forked from one that has imported it: a third of the time.

``run`` takes a command as ``subprocess.run`` does.  A script that depyf has written gets ``import torch`` alone (``imports=ALONE``),
for it has to import the rest.  It is for programs of which the start is not tested: a test that asks how
depyf is imported before torch, what a signal does, or what Python's or torch's own settings do, starts a process of its own.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

import torch_client

SERVER = Path(__file__).with_name("torch_server.py")
FORKS = sys.platform == "linux"
"""Whether there are such processes; elsewhere each program has one of its own."""


COMPILES = ("torch", "torch._dynamo", "torch._inductor.compile_fx")
"""What is imported for a program that compiles."""
ALONE = ("torch",)
"""For one that has to import itself what it needs of torch."""


class _Server:
    """One for each start: options of the interpreter, what is imported, and an environment."""

    def __init__(self, options: Sequence[str], imports: Sequence[str], start: Mapping[str, str]) -> None:
        folder = tempfile.mkdtemp(prefix="depyf-torch-")  # the server removes it, also where this process is killed
        self._socket = os.path.join(folder, "s")
        self._errors = tempfile.TemporaryFile()
        # numpy's library starts threads when it is imported, which a fork would lack
        environment = {**start, "OPENBLAS_NUM_THREADS": "1", "PATH": os.environ.get("PATH", os.defpath)}
        self._process = subprocess.Popen(
            [sys.executable, *options, str(SERVER), self._socket, *imports], env=environment, cwd=folder,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors,
        )  # fmt: skip
        assert self._process.stdout is not None
        with self._process.stdout as said:
            if said.readline() != b"ready\n":
                raise RuntimeError(self.problem())
        self.command = os.path.join(folder, "python")
        words = [
            sys.executable,
            "-I",
            "-S",
            torch_client.__file__,
            self._socket,
            torch_client.digest(start),
            self.command,
        ]
        Path(self.command).write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
        os.chmod(self.command, 0o755)

    def connection(self) -> socket.socket:
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(self._socket)
        return connection

    def problem(self) -> str:
        """What it said when it ended."""
        self._process.wait(300)
        self._errors.seek(0)
        return f"the server of torch has ended: {self._errors.read().decode(errors='replace')}"

    def end(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()
        self._errors.close()


_servers: dict[tuple[str, ...], _Server] = {}


def _server(options: Sequence[str], imports: Sequence[str], environment: Mapping[str, str]) -> _Server:
    start = torch_client.start_of(environment)
    key = (*options, *imports, torch_client.digest(start))
    if key not in _servers:
        if not _servers:
            atexit.register(_end)
        _servers[key] = _Server(options, imports, start)
    return _servers[key]


def command(environment: Mapping[str, str]) -> str:
    """The path of a command that does what ``sys.executable`` does: in such processes where that is started with what a
    program reads of ``environment`` at its start.  Processes that these start with ``sys.executable`` are such, too."""
    return _server((), COMPILES, environment).command if FORKS else sys.executable


def _end() -> None:
    while _servers:
        _servers.popitem()[1].end()


class Program:
    """A running program with these files 0 to 2.  ``terminal``: file 0 is the terminal that it is to have."""

    def __init__(
        self, command: Sequence[str | Path], files: Sequence[int], *, cwd: str | Path | None = None,
        env: Mapping[str, str] | None = None, imports: Sequence[str] = COMPILES, terminal: bool = False,
    ) -> None:  # fmt: skip
        command = [os.fspath(part) for part in command]
        if command[0] != sys.executable:
            raise ValueError(f"{command[0]} is not {sys.executable}")
        options = torch_client.parts(command[1:])[0]
        environment = os.environ if env is None else env
        self._server = _server(options, imports, environment)
        self._connection = self._server.connection()
        torch_client.asked(
            self._connection, files, command[1:], folder=os.path.abspath(cwd or os.getcwd()), environment=environment,
            terminal=terminal,
        )  # fmt: skip
        self.process = self._number()
        self.status: int | None = None

    def wait(self, timeout: float | None = None) -> int:
        """The status, as ``subprocess`` has it; TimeoutError."""
        if self.status is None:
            self._connection.settimeout(timeout)
            self.status = self._number()
            self._connection.close()
        return self.status

    def kill(self) -> None:
        """Nothing, if it has ended."""
        if self.status is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.process, signal.SIGKILL)
            self.wait()

    def _number(self) -> int:
        try:
            return torch_client.number(self._connection)
        except EOFError:
            self._connection.close()
            raise RuntimeError(self._server.problem()) from None


def run(
    command: Sequence[str | Path], *, cwd: str | Path | None = None, env: Mapping[str, str] | None = None, input: str = "",
    timeout: float | None = 300, check: bool = False, imports: Sequence[str] = COMPILES,
) -> subprocess.CompletedProcess[str]:  # fmt: skip
    """Run ``sys.executable`` with these options, program and arguments, with its output captured as text.

    ``imports``: what the process has imported when the program starts."""
    if not FORKS:
        return subprocess.run(
            command, cwd=cwd, env=env, input=input, timeout=timeout, check=check, capture_output=True, text=True
        )
    with tempfile.TemporaryFile() as stdin, tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
        stdin.write(input.encode())
        stdin.seek(0)
        files = [file.fileno() for file in (stdin, stdout, stderr)]
        program = Program(command, files, cwd=cwd, env=env, imports=imports)
        try:
            status = program.wait(timeout)
        except TimeoutError:
            raise subprocess.TimeoutExpired(command, timeout or 0, _text(stdout), _text(stderr)) from None
        finally:
            program.kill()
        done = subprocess.CompletedProcess(command, status, _text(stdout), _text(stderr))
    if check:
        done.check_returncode()
    return done


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode().replace("\r\n", "\n")
