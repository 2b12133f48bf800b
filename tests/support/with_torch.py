"""Python programs that import torch, run in processes forked from one that has imported it: a third of the time.

``run`` takes a command as ``subprocess.run`` does.  It is for programs of which the start is not tested: a test that asks how
depyf is imported before torch, what a signal does, or what Python's or torch's own settings do, starts a process of its own.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

SERVER = Path(__file__).with_name("torch_server.py")
FORKS = sys.platform == "linux"
"""Whether there are such processes; elsewhere each program has one of its own."""
_LATE = (
    "PATH", "PYTHONPATH", "PYTEST_CURRENT_TEST", "COLUMNS", "LINES", "TERM", "NO_COLOR", "HOME", "TMPDIR", "RANK", "WORLD_SIZE",
    "LOCAL_RANK", "TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR",
)  # fmt: skip
"""What is read after torch was imported, or what the server itself puts in place.  All else it is started with."""


class _Server:
    """One for each start: options of the interpreter, and an environment."""

    def __init__(self, options: Sequence[str], environment: Mapping[str, str]) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="depyf-torch-")
        self._socket = os.path.join(self._folder.name, "s")
        self._errors = tempfile.TemporaryFile()
        # numpy's library starts threads when it is imported, which a fork would lack
        environment = {**environment, "OPENBLAS_NUM_THREADS": "1"}
        self._process = subprocess.Popen(
            [sys.executable, *options, str(SERVER), self._socket], env=environment, cwd=self._folder.name,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors,
        )  # fmt: skip
        assert self._process.stdout is not None
        with self._process.stdout as said:
            if said.readline() != b"ready\n":
                raise RuntimeError(self.problem())

    def connection(self) -> socket.socket:
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(self._socket)
        return connection

    def problem(self) -> str:
        """What it said when it ended."""
        self._process.wait(60)
        self._errors.seek(0)
        return f"the server of torch has ended: {self._errors.read().decode(errors='replace')}"

    def end(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()
        self._errors.close()
        self._folder.cleanup()


_servers: dict[tuple[object, ...], _Server] = {}


def _server(options: Sequence[str], environment: Mapping[str, str]) -> _Server:
    start = {name: value for name, value in environment.items() if name not in _LATE and not name.startswith("DEPYF_")}
    key = (*options, None, *sorted(start.items()))
    if key not in _servers:
        if not _servers:
            atexit.register(_end)
        _servers[key] = _Server(options, {**start, "PATH": os.environ.get("PATH", os.defpath)})
    return _servers[key]


def _end() -> None:
    while _servers:
        _servers.popitem()[1].end()


def _parts(command: Sequence[str]) -> tuple[list[str], str, str, list[str]]:
    """(options of the interpreter, what is run, its name or text, its arguments)"""
    options, rest = [], list(command[1:])
    while rest[0].startswith("-") and rest[0] not in ("-c", "-m"):
        options += [rest.pop(0), *([rest.pop(0)] if options[-1:] in (["-W"], ["-X"]) else [])]
    what = {"-c": "code", "-m": "module"}.get(rest[0], "script")
    if what != "script":
        del rest[0]
    return options, what, rest[0], rest[1:]


class Program:
    """A running program with these files 0 to 2.  ``terminal``: file 0 is the terminal that it is to have."""

    def __init__(
        self, command: Sequence[str | Path], files: Sequence[int], *, cwd: str | Path | None = None,
        env: Mapping[str, str] | None = None, terminal: bool = False,
    ) -> None:  # fmt: skip
        command = [os.fspath(part) for part in command]
        if command[0] != sys.executable:
            raise ValueError(f"{command[0]} is not {sys.executable}")
        options, what, target, arguments = _parts(command)
        environment = dict(os.environ if env is None else env)
        request = {
            "command": command[1:], "what": what, "target": target, "arguments": arguments, "environment": environment,
            "folder": os.path.abspath(cwd or os.getcwd()), "terminal": terminal,
        }  # fmt: skip
        self._server = _server(options, environment)
        self._connection = self._server.connection()
        text = json.dumps(request).encode()
        socket.send_fds(self._connection, [len(text).to_bytes(8, "big")], files)
        self._connection.sendall(text)
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
        text = b""
        while not text.endswith(b"\n"):
            if not (part := self._connection.recv(64)):
                self._connection.close()
                raise RuntimeError(self._server.problem())
            text += part
        return int(text)


def run(
    command: Sequence[str | Path], *, cwd: str | Path | None = None, env: Mapping[str, str] | None = None, input: str = "",
    timeout: float | None = 300, check: bool = False,
) -> subprocess.CompletedProcess[str]:  # fmt: skip
    """Run ``sys.executable`` with these options, program and arguments, with its output captured as text."""
    if not FORKS:
        return subprocess.run(
            command, cwd=cwd, env=env, input=input, timeout=timeout, check=check, capture_output=True, text=True
        )
    with tempfile.TemporaryFile() as stdin, tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
        stdin.write(input.encode())
        stdin.seek(0)
        files = [file.fileno() for file in (stdin, stdout, stderr)]
        program = Program(command, files, cwd=cwd, env=env)
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
