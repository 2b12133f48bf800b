"""What became of one input of ``depyf decompile``, and the exit statuses."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any

from depyf.decompiler.verify.verdict import Verdict


class ExitStatus(enum.IntEnum):
    """Exit statuses, documented in ``docs/reference/cli.md``; of several inputs the largest wins."""

    PROVEN = 0
    UNPROVEN = 1
    USAGE = 2
    FAILED = 3
    UNREADABLE = 4


INTERRUPTED = 130
"""As a shell has it: 128 and the number of the signal."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """``source`` is None where there is an ``error``; ``relative`` is where ``-o`` puts the text."""

    name: str
    relative: str
    order: int
    exit: ExitStatus
    version: tuple[int, int] | None = None
    source: str | None = None
    verdicts: tuple[Verdict, ...] = ()
    error: str | None = None
    output: str | None = None
    note: str | None = None
    """How the bytes were read, where that is in doubt."""

    def as_json(self) -> dict[str, Any]:
        return {
            "input": self.name,
            "output": self.output,
            "version": None if self.version is None else f"{self.version[0]}.{self.version[1]}",
            "note": self.note,
            "exit": int(self.exit),
            "error": self.error,
            "verdicts": [
                {"qualname": v.qualname, "status": v.status.value, "reason": v.reason, "line": v.line}
                for v in self.verdicts
            ],
            # with -o the text is in the file
            "source": self.source if self.output is None else None,
        }
