"""How long a check of all guards of an entry takes, measured while torch reports them.

Input: the stack of the thread, while torch reports guards: there are the guards, and the values of the call.  Output:
seconds.  Each check runs the guards once more, so it is for a process that depyf started (``depyf doctor``).
"""

from __future__ import annotations

import sys
import types

from depyf.sources.live.pure_access import attribute

_GUARDS = "/torch/_dynamo/guards.py"
_DEEPEST = 50
_ROUNDS, _CHECKS = 9, 1
"""Each check empties the caches of the processor first, which takes milliseconds."""


def measured_latency() -> float | None:
    """The seconds of one check of the guards that torch is building: the minimum of several rounds.  None where this
    version of torch does not have them at hand."""
    frame: types.FrameType | None = sys._getframe(1)
    for _ in range(_DEEPEST):
        if frame is None:
            return None
        code = frame.f_code
        if code.co_name == "__init__" and code.co_filename.replace("\\", "/").endswith(_GUARDS):
            break
        frame = frame.f_back
    known = frame.f_locals.get("self") if frame is not None else None
    root = attribute(attribute(known, "guard_manager"), "root")
    scope = attribute(attribute(known, "output_graph"), "local_scope")
    profile = attribute(sys.modules.get("torch._C._dynamo.guards"), "profile_guard_manager")
    if root is None or scope is None or profile is None:
        return None
    return min(float(profile(root, scope, _CHECKS)) for _ in range(_ROUNDS)) * 1e-6
