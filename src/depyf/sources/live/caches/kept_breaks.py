"""The graph breaks of a compilation that is over, as torch would have reported them while it compiled.

torch keeps its reason of a break, without the lines around it; the line is the one after the break, or the call whose
value the code returns.  Of a branch on a tensor it keeps no reason: there the code goes on in one of two functions that
begin at the same line.

If a library inside of the call asked for a break, the report names the library's code.

Input: a cache entry, and torch's memory of its compilation.  Output: reports for ``graph_breaks.py``, with the frames
that each is about.
"""

from __future__ import annotations

import types
from collections import Counter

import torch._dynamo

from depyf.run.advice.for_breaks import is_asked_for
from depyf.run.guards.guard_kind import UnknownValueError, tree_of
from depyf.sources.live.caches.call_at_break import CallAtBreak
from depyf.sources.live.caches.entries import LiveEntry
from depyf.sources.live.events.call_values import CallValues
from depyf.sources.live.events.compilations import Compilation
from depyf.sources.live.resume import resume_targets
from depyf.sources.reports.break_stack import BrokenAt, TracedFrame
from depyf.sources.reports.library_files import of_libraries

BRANCH = "Data-dependent branching"
"""What torch calls a break at a branch."""
NO_CAUSE = "torch keeps no cause of it: depyf.prepare_debug, entered before, records one"


def called_code(call: CallAtBreak | None, values: CallValues) -> types.CodeType | None:
    """The code of the function that is called where a graph ends; None for a function without Python code, or out of
    reach of ``values``."""
    tree = tree_of(call.source) if call is not None and call.source else None
    if tree is None:
        return None
    try:
        found = values.value(tree)
    except UnknownValueError:
        return None
    found = found.__func__ if type(found) is types.MethodType else found
    return found.__code__ if type(found) is types.FunctionType else None


def kept_breaks(
    code: types.CodeType,
    entry: LiveEntry,
    compilation: Compilation | None,
    call: CallAtBreak | None = None,
    called: types.CodeType | None = None,
) -> dict[str, BrokenAt]:
    """Where the graphs of an entry of ``code`` end, as far as torch keeps it.  ``call``: what its code calls there,
    which has the code ``called``."""
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
    if called is not None and len(texts) == 1 and _asks_inside(called, texts[0]):
        return dict([_report_inside(code, texts[0], line, called)])
    return dict(_report(code, text, line if len(texts) == 1 else None) for text in texts)


def _asks_inside(called: types.CodeType, reason: str) -> bool:
    """Whether code of a library asked for the break, in the function that is called: it is not the one by which it is
    asked for."""
    asks = torch._dynamo.graph_break.__code__
    return is_asked_for(reason) and called is not asks and of_libraries(called.co_filename)


def _report_inside(code: types.CodeType, reason: str, line: int | None, called: types.CodeType) -> tuple[str, BrokenAt]:
    """Of a break in ``called``, whose line torch does not keep."""
    text, at = _report(called, reason, called.co_firstlineno)
    _, outside = _report(code, reason, line)
    return text, BrokenAt(traced=(*outside.traced, *at.traced))


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
