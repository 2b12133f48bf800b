"""Why a graph ended, or why a function has no compiled code: what ``depyf.explain`` shows of the records of a run.

Input: records of a break, or of a compilation that left no code.  Output: ``ReportedBreak``, which reads them, and its
lines.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from depyf.run.places.place import Place
from depyf.run.records import BreakRecord, CodeRecord, EntryRecord, EntryState
from depyf.safety.escape import cut
from depyf.sources.live.caches.kept_breaks import NO_CAUSE


@dataclass(frozen=True, slots=True)
class ReportedBreak:
    """Why a graph ended before the function did, or why a function was left alone."""

    broken: BreakRecord | None = None
    """The graph break."""
    entry: EntryRecord | None = None
    """The compilation that left no code."""
    said: str = ""
    """Why torch did not even try."""
    begins: Place | None = None
    """Where the function begins."""

    @property
    def cause(self) -> str:
        """The cause of the break, in plain words."""
        if self.broken is not None:
            return self.broken.cause
        return self.said if self.entry is None else self.entry.error or self.entry.failed

    @property
    def hints(self) -> tuple[str, ...]:
        """torch's own hints; () where torch itself causes the break."""
        if self.broken is None or any(use.id == "torch-own" for use in self.broken.advice):
            return ()
        hints = self.broken.hints
        return tuple(hint for hint in hints if "report an issue" not in hint)

    @property
    def line(self) -> int | None:
        """The line of the program; None where torch does not keep it."""
        broken = self.broken if self.raised is None else None
        place = None if broken is None else broken.caller or broken.place
        return place.line if place is not None else None

    @property
    def torch(self) -> str:
        """torch's reason and explanation, where they say more than ``cause``; else ""."""
        if self.broken is not None:
            reason, explanation = self.broken.reason, self.broken.explanation
            told = f"{reason}: {explanation}" if explanation else reason
            return told if told not in (self.cause, NO_CAUSE) else ""
        return self.entry.failed if self.entry is not None and self.entry.error else ""

    @property
    def raised(self) -> Place | None:
        """The line at which torch raised an error into the program; None where it raised none."""
        if self.entry is None or self.entry.state is not EntryState.FAILED:
            return None
        return self.entry.error_at or self.begins

    @property
    def compile_id(self) -> str:
        """The compile id of the compilation that left no code; "" for a break."""
        return self.entry.key.text if self.entry is not None else ""

    @property
    def reason(self) -> str:
        """torch's name for this kind of break."""
        return self.broken.reason if self.broken is not None else ""

    @property
    def in_loop(self) -> bool:
        """Whether torch gave up after the break because a loop was running."""
        return self.broken is not None and self.broken.in_loop

    def to_json(self) -> dict[str, Any]:
        return {
            "cause": self.cause,
            "torch": self.torch,
            "hints": list(self.hints),
            "line": self.line if self.raised is None else self.raised.line,
            "raised": self.raised is not None,
        }


def left_alone(entry: EntryRecord, code: CodeRecord) -> ReportedBreak:
    """Why a compilation left no code."""
    found = next((record for record in reversed(entry.breaks) if not record.limit), None)
    begins = Place(code.filename, code.line, code.qualname, code.source.strip().partition("\n")[0].strip())
    return ReportedBreak(None if entry.raised else found, entry, begins=begins)


def left_alone_in_words(item: ReportedBreak) -> str:
    """What became of a compilation that left no code."""
    if item.raised is None:
        return "not compiled, runs as ordinary Python"
    return f"failed: torch raised an error at {item.raised.filename}:{item.raised.line} `{cut(item.raised.text, 100)}`"


def break_lines(what: str, item: ReportedBreak) -> list[str]:
    where = f" (line {item.line})" if item.line is not None else ""
    told = [f"    torch: {item.torch}"] if item.torch else []
    return [f"  {what}{where}: {item.cause}", *told, *(f"    hint: {hint}" for hint in item.hints)]
