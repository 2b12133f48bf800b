"""Why a graph ended, or why a function has no compiled code, as far as torch remembers it.

Input: cache entries, and torch's memory of its last compilations.  Output: ``ReportedBreak`` records and their lines.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from depyf.run.records import Place
from depyf.safety.escape import cut
from depyf.safety.source_lines import source_line
from depyf.sources.live.caches.entries import LiveEntry
from depyf.sources.live.events.compilations import Compilation
from depyf.sources.live.events.failures import told_failure
from depyf.sources.live.events.graph_breaks import BRANCH, at_branch, hints_of, is_in_loop, raised_then, told_later
from depyf.sources.live.resume import resume_targets


@dataclass(frozen=True, slots=True)
class ReportedBreak:
    """Why a graph ended before the function did, or why a function was left alone."""

    cause: str
    """In plain words."""
    hints: tuple[str, ...]
    line: int | None = None
    torch: str = ""
    """What torch calls it, where that says more."""
    raised: Place | None = None
    """torch raised an error into the program instead of compiling: its line."""
    compile_id: str = ""
    """Of the compilation that ended so."""
    reason: str = ""
    """torch's name of the kind of break, where torch keeps no words of it."""
    in_loop: bool = False
    """torch could not go on after it, because a loop was running."""

    def to_json(self) -> dict[str, Any]:
        return {
            "cause": self.cause,
            "torch": self.torch,
            "hints": list(self.hints),
            "line": self.line if self.raised is None else self.raised.line,
            "raised": self.raised is not None,
        }


NO_REASON = (
    "there was nothing to compile in it, or Dynamo gave up on it (a graph break in a loop); this torch keeps no "
    "reason: put its first call under depyf.prepare_debug"
)
_LONGEST_FAILURE = 300


def graph_breaks_of(entry: LiveEntry, compilation: Compilation | None) -> list[ReportedBreak]:
    """Where the graphs of an entry end: torch's reasons, as far as it keeps them, and the line at which the rest
    begins.

    Of a branch it keeps none; there the code goes on in one of two functions that begin at the same line."""
    rest = list({id(code): code for _, code in resume_targets(entry)}.values())
    lines = {code.co_firstlineno for code in rest}
    line = next(iter(lines)) if len(lines) == 1 else None
    texts = compilation.breaks if compilation is not None else ()
    if any(count > 1 for count in Counter((code.co_name, code.co_firstlineno) for code in rest).values()):
        return [
            *map(_break, texts),
            ReportedBreak(at_branch(rest[0].co_filename, rest[0].co_firstlineno), (), line, reason=BRANCH),
        ]
    if rest and not texts and compilation is not None:
        return [_break("", line)]
    return [_break(text, line if len(texts) == 1 else None) for text in texts]


def failure_of(compilation: Compilation) -> ReportedBreak:
    """A compilation that made no code: torch raised, or left the function alone."""
    if not raised_then(compilation.failure_kind):
        return _break(compilation.failure, compilation.failure_line)
    data = {
        "fail_type": compilation.failure_kind,
        "fail_reason": compilation.failure,
        "fail_user_frame_filename": compilation.failure_file or None,
        "fail_user_frame_lineno": compilation.failure_line,
    }
    words, place = told_failure(data)
    first = source_line(compilation.filename, compilation.line).strip()
    place = place or Place(compilation.filename, compilation.line, compilation.name, first)
    torch = cut(" ".join(compilation.failure.split()), _LONGEST_FAILURE)
    return ReportedBreak(words, (), None, f"{compilation.failure_kind}: {torch}", place, compilation.compile_id)


def _break(text: str, line: int | None = None) -> ReportedBreak:
    """torch's reason taken apart: what happened, and its hints."""
    cause, told = told_later(text)
    hints = tuple(hint for hint in hints_of(text) if "report an issue" not in hint)
    return ReportedBreak(cause, hints, line, told if told != cause else "", in_loop=is_in_loop(text))


def left_alone_in_words(item: ReportedBreak) -> str:
    """What came of a compilation that made no code."""
    if item.raised is None:
        return "not compiled, runs as ordinary Python"
    return f"failed: torch raised an error at {item.raised.filename}:{item.raised.line} `{item.raised.text}`"


def break_lines(what: str, item: ReportedBreak) -> list[str]:
    where = f" (line {item.line})" if item.line is not None else ""
    told = [f"    torch: {item.torch}"] if item.torch else []
    return [f"  {what}{where}: {item.cause}", *told, *(f"    hint: {hint}" for hint in item.hints)]
