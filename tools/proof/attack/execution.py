"""Run both sides of an accepted mutant in the interpreter of its version: the host's end of ``traced.py``."""

from __future__ import annotations

import json
import signal
import subprocess
import threading
from pathlib import Path
from typing import Any

from tools.env import interpreters

TRACED = Path(__file__).parent / "traced.py"
Side = dict[str, Any]
"""``text``, and for a patched side ``path`` and ``patch``."""


UNSTOPPABLE = (3, -signal.SIGKILL)
"""Statuses of a process with code that nothing stops: ``traced.py`` ended it, as the code catches even the exception that is to
stop it; or this did, as a loop in the interpreter sees no signal (up to 3.8 it follows a circle of contexts for ever)."""
PATIENCE = 30.0
"""Seconds until a run that no signal reaches is ended with its process."""


class Crashed(Exception):
    """The interpreter ended: a crash, or code that cannot be stopped."""


class Executor:
    """One process of ``version``, started again when it ends."""

    def __init__(self, version: str) -> None:
        python = interpreters.find(version)
        if python is None:
            raise SystemExit(f"no Python {version} on this machine: make pythons")
        self.command = [str(python), "-I", "-S", str(TRACED)]
        self.process: subprocess.Popen[str] | None = None

    def differences(self, left: Side, right: Side, seeds: range) -> list[tuple[int, list[str], list[str]]]:
        """The seeds with which the two sides do not do the same, and what they do; raises ``Crashed``."""
        if self.process is None:
            self.process = subprocess.Popen(
                self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
            )
        assert self.process.stdin is not None and self.process.stdout is not None
        found = []
        for seed in seeds:
            timer = threading.Timer(PATIENCE, self.process.kill)
            timer.start()
            try:
                self.process.stdin.write(json.dumps({"sides": [left, right], "seed": seed}) + "\n")
                self.process.stdin.flush()
                answer = self.process.stdout.readline()
            except OSError:
                answer = ""
            finally:
                timer.cancel()
            if not answer:
                status = self.process.wait()
                self.close()
                if left != right and status in UNSTOPPABLE and self._is_unstoppable(left, seed):
                    return found
                raise Crashed(f"exit status {status} with seed {seed}")
            outcome = json.loads(answer)
            if len(outcome) == 2:
                found.append((seed, outcome[0], outcome[1]))
        return found

    def _is_unstoppable(self, side: Side, seed: int) -> bool:
        """Whether a side goes on for ever by itself, whatever it is stopped with."""
        try:
            self.differences(side, side, range(seed, seed + 1))
        except Crashed:
            return True
        return False

    def close(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.communicate()
            self.process = None
