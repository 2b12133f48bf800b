"""What Dynamo was tracing when it raised the error that it reports now.

Input: the error that is being handled.  Output: plain frames, from the compiled function to the line.
"""

from __future__ import annotations

import sys

from depyf.sources.reports.break_stack import TracedFrame


def traced_stack() -> tuple[TracedFrame, ...]:
    """What Dynamo was tracing when the error was raised that it reports now; () where torch does not keep it."""
    kept = getattr(sys.exc_info()[1], "real_stack", None)
    found = []
    for frame in kept if isinstance(kept, list) else ():
        columns = getattr(frame, "colno", None), getattr(frame, "end_colno", None)
        found.append(
            TracedFrame(
                str(frame.filename), frame.lineno or 0, str(frame.name), *(-1 if c is None else c for c in columns)
            )
        )
    return tuple(found)
