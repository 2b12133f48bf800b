"""A program at a debugger's prompt in a pseudo-terminal."""

from __future__ import annotations

import fcntl
import os
import re
import struct
import sys
import termios
from pathlib import Path

import pexpect
from dumps import ROOT
from pexpect import fdpexpect

import with_torch

DIMENSIONS = (50, 300)
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def bare_environment() -> dict[str, str]:
    """What a terminal's program sees: none of this process's settings but where compilers find what this Python needs."""
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT / "tests" / "torch"), os.environ.get("PYTHONPATH", "")])
    kept = (
        "CPLUS_INCLUDE_PATH", "TORCHINDUCTOR_CACHE_DIR", "TORCHINDUCTOR_COMPILE_THREADS", "TORCHINDUCTOR_VEC_ISA_OK",
        "OMP_NUM_THREADS",
    )  # fmt: skip
    return {
        "PYTHONPATH": path,
        "PYTHONWARNINGS": "ignore",
        "TERM": "dumb",
        "PATH": "/usr/bin:/bin",
        **{name: os.environ[name] for name in kept if name in os.environ},
    }


class ForkedChild(fdpexpect.fdspawn):
    """As ``pexpect.spawn``: a program that ``with_torch`` runs, in a terminal of its own."""

    def __init__(self, args: list[str], env: dict[str, str], timeout: int):
        ours, theirs = os.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", *DIMENSIONS, 0, 0))
        modes = termios.tcgetattr(theirs)
        modes[3] &= ~termios.ECHO
        termios.tcsetattr(theirs, termios.TCSANOW, modes)
        self.program = with_torch.Program([sys.executable, *args], [theirs] * 3, env=env, terminal=True)
        os.close(theirs)
        super().__init__(ours, encoding="utf-8", timeout=timeout)

    def close(self, force: bool = True) -> None:
        super().close()
        self.program.kill()


class Terminal:
    """Runs ``python ARGS`` with a terminal of its own and waits for the prompt.

    ``alone``: in a process that starts with nothing imported; otherwise it has torch already (``with_torch.py``).
    """

    def __init__(
        self, args: list[str], prompt: str = "(Pdb) ", env: dict[str, str] | None = None, timeout: int = 240,
        alone: bool = False,
    ):  # fmt: skip
        self.prompt = prompt
        self.text = ""
        environment = bare_environment() | (env or {})
        if with_torch.FORKS and not alone:
            self.child = ForkedChild(args, environment, timeout)
        else:
            self.child = pexpect.spawn(
                sys.executable, args, env=environment, encoding="utf-8", timeout=timeout, dimensions=DIMENSIONS,
                echo=False,
            )  # fmt: skip
        self.first = self._wait()

    def command(self, command: str, expected: str) -> str:
        """Give a command; what is printed up to the next prompt must hold ``expected``."""
        self.child.sendline(command)
        answer = self.end() if command in ("q", "exit") else self._wait()
        assert expected in answer, (command, answer, self.text[-3000:])
        return answer

    def steps(self, until: str, limit: int) -> list[str]:
        """``step`` until a stop mentions ``until``; what was printed at each."""
        stops: list[str] = []
        while not stops or until not in stops[-1]:
            assert len(stops) < limit, self.text[-6000:]
            stops.append(self.command("s", ">"))
        return stops

    def end(self) -> str:
        """The rest of the output; the program has ended."""
        if not self.child.closed:
            self.child.expect(pexpect.EOF)
            self.text += self.child.before
            self.child.close(force=True)
        return str(self.child.before)

    @staticmethod
    def line(file: str, text: str, directory: Path) -> int | None:
        """The number of the first line of a dumped file that holds ``text``, comments apart."""
        lines = (directory / file).read_text().splitlines()
        found = (n for n, line in enumerate(lines, 1) if text in line and not line.lstrip().startswith("#"))
        return next(found, None)

    def _wait(self) -> str:
        self.child.expect_exact(self.prompt)
        answer = _COLOUR.sub("", self.child.before)
        self.text += answer + self.prompt
        return answer
