"""What is asked of ``torch_server.py``; and a command that runs Python programs there, which ``with_torch.command`` makes.

python torch_client.py SOCKET START SELF [OPTION ...] PROGRAM [ARGUMENT ...]

With other options, or where the environment asks for another start, the program runs in a process of its own.  SELF is what
the program finds as ``sys.executable``: what it starts itself runs there, too.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import socket
import sys
from collections.abc import Mapping, Sequence

LATE = (
    "PATH", "PYTHONPATH", "PYTEST_CURRENT_TEST", "COLUMNS", "LINES", "TERM", "NO_COLOR", "HOME", "TMPDIR", "RANK", "WORLD_SIZE",
    "LOCAL_RANK", "TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR", "PWD", "OLDPWD", "SHLVL", "_",
)  # fmt: skip
"""What is read after torch was imported, or what the server itself puts in place.  All else it is started with."""


def start_of(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name not in LATE and not name.startswith("DEPYF_")}


def digest(start: Mapping[str, str]) -> str:
    return hashlib.sha256(json.dumps(sorted(start.items())).encode()).hexdigest()


def parts(command: Sequence[str]) -> tuple[list[str], str, str, list[str]]:
    """(options of the interpreter, what is run, its name or text, its arguments); "" as what is run where that is a prompt."""
    options, rest = [], list(command)
    while rest and rest[0].startswith("-") and rest[0] not in ("-c", "-m"):
        options += [rest.pop(0), *([rest.pop(0)] if options[-1:] in (["-W"], ["-X"]) else [])]
    if not rest:
        return options, "", "", []
    what = {"-c": "code", "-m": "module"}.get(rest[0], "script")
    if what != "script":
        del rest[0]
    return options, what, rest[0], rest[1:]


def asked(
    connection: socket.socket, files: Sequence[int], command: Sequence[str], *, folder: str, environment: Mapping[str, str],
    terminal: bool = False, executable: str = "",
) -> None:  # fmt: skip
    _, what, target, arguments = parts(command)
    request = {
        "command": command, "what": what, "target": target, "arguments": arguments, "environment": dict(environment),
        "folder": folder, "terminal": terminal, "executable": executable,
    }  # fmt: skip
    text = json.dumps(request).encode()
    socket.send_fds(connection, [len(text).to_bytes(8, "big")], files)
    connection.sendall(text)


def number(connection: socket.socket) -> int:
    """The next line: the number of the process, then its status.  EOFError where the server has ended."""
    text = b""
    while not text.endswith(b"\n"):
        if not (part := connection.recv(64)):
            raise EOFError
        text += part
    return int(text)


def main(path: str, start: str, own: str, *command: str) -> int:
    options, what, _, _ = parts(command)
    if options or not what or digest(start_of(os.environ)) != start:
        os.execv(sys.executable, [sys.executable, *command])
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(path)
        asked(connection, (0, 1, 2), command, folder=os.getcwd(), environment=os.environ, executable=own)
        number(connection)
        status = number(connection)
    if status < 0:
        signal.signal(-status, signal.SIG_DFL) if status != -signal.SIGKILL else None
        os.kill(os.getpid(), -status)
    return status


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
