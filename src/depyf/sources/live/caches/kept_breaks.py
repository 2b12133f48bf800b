"""The graph breaks of a compilation that is over, as torch would have reported them while it compiled.

torch keeps its reason of a break, without the lines around it; the line is that at which the code goes on after it, or
of the call whose value it returns.  Of a branch on a tensor it keeps no reason: there the code goes on in one of two
functions that begin at the same line.

Input: a cache entry, and torch's memory of its compilation.  Output: reports for ``graph_breaks.py``, with the frame
that each is about.
"""

from __future__ import annotations

import types
from collections import Counter

from depyf.sources.live.caches.call_at_break import CallAtBreak
from depyf.sources.live.caches.entries import LiveEntry
from depyf.sources.live.events.compilations import Compilation
from depyf.sources.live.resume import resume_targets
from depyf.sources.reports.break_stack import BrokenAt, TracedFrame

BRANCH = "Data-dependent branching"
"""What torch calls a break at a branch."""
NO_CAUSE = "torch keeps no cause of it: depyf.prepare_debug, entered before, records one"


def kept_breaks(
    code: types.CodeType, entry: LiveEntry, compilation: Compilation | None, call: CallAtBreak | None = None
) -> dict[str, BrokenAt]:
    """Where the graphs of an entry of ``code`` end, as far as torch keeps it.  ``call``: what its code calls there."""
    rest = list({id(one): one for _, one in resume_targets(entry)}.values())
    lines = {one.co_firstlineno for one in rest}
    if not rest and call is not None and call.returned and call.line is not None:
        lines = {call.line}
    line = next(iter(lines)) if len(lines) == 1 else None
    texts = compilation.breaks if compilation is not None else ()
    if any(count > 1 for count in Counter((one.co_name, one.co_firstlineno) for one in rest).values()):
        return dict([*(_report(code, text) for text in texts), _report(code, BRANCH, line)])
    if rest and not texts and compilation is not None:
        return dict([_report(code, "", line)])
    return dict(_report(code, text, line if len(texts) == 1 else None) for text in texts)


def kept_failure(code: types.CodeType, compilation: Compilation) -> dict[str, BrokenAt]:
    """The break after which torch could not go on, so that it gave the function up."""
    return dict([_report(code, compilation.failure, compilation.failure_line, compilation.failure_file)])


def _report(code: types.CodeType, reason: str, line: int | None = None, filename: str = "") -> tuple[str, BrokenAt]:
    reason = reason.strip()
    if not reason or reason.startswith("Unknown "):
        reason = NO_CAUSE
    if line is None:
        return f"Graph Break Reason: {reason}", BrokenAt()
    filename = filename or code.co_filename
    own = filename == code.co_filename and any(number == line for _, _, number in code.co_lines())
    at = BrokenAt(traced=(TracedFrame(filename, line, code.co_name if own else ""),))
    return f"Graph break in user code at {filename}:{line}\nGraph Break Reason: {reason}", at
