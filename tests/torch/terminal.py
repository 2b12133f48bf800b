"""A program at a debugger's prompt in a pseudo-terminal."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pexpect
from dumps import ROOT

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


class Terminal:
    """Runs ``python ARGS`` with a terminal of its own and waits for the prompt."""

    def __init__(self, args: list[str], prompt: str = "(Pdb) ", env: dict[str, str] | None = None, timeout: int = 240):
        self.prompt = prompt
        self.text = ""
        self.child = pexpect.spawn(
            sys.executable, args, env=bare_environment() | (env or {}), encoding="utf-8", timeout=timeout,
            dimensions=(50, 300), echo=False,
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
