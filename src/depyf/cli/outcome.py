"""What became of one input of ``depyf decompile``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from depyf.cli.exit_status import ExitStatus
from depyf.decompiler.verify.verdict import Verdict


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
