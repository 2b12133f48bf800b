"""A compilation that the program's interruption ends: Ctrl-C, ``sys.exit`` in a thread's signal handler.

Input: the metrics that torch reports of a compilation, in a ``finally`` and without a reason, for it catches
``Exception`` alone.  Output: the same with the class of what is being raised.  Call it while torch reports them.
"""

from __future__ import annotations

import sys
import traceback
from dataclasses import replace

import torch._dynamo.convert_frame

from depyf.run.trace_events import TraceEvent

_COMPILER = torch._dynamo.convert_frame.__file__


def with_interruption(event: TraceEvent) -> TraceEvent:
    """``event``, with ``fail_type`` and ``fail_reason`` where its compilation is being left by no ``Exception``."""
    error = sys.exc_info()[1]
    if error is None or isinstance(error, Exception) or event.data.get("fail_type"):
        return event
    left = {frame for frame, _ in traceback.walk_tb(error.__traceback__) if frame.f_code.co_filename == _COMPILER}
    frame = sys._getframe()
    while frame is not None and frame not in left:  # one that a handler of the program holds has left none of these
        if frame.f_back is None:
            return event
        frame = frame.f_back
    told = {"fail_type": type(error).__name__, "fail_reason": "it was interrupted"}
    return replace(event, data={**event.data, **told})
