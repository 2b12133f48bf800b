"""How long a check of all guards of an entry takes, measured while torch reports them.

Input: the stack of the thread, while torch reports guards: there are the guards, and the values of the call.  Output:
seconds, of all and by line.  Each check runs the guards once more, so it is for a process that depyf started
(``depyf doctor``).
"""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Sequence
from typing import Any

from depyf.run.bill.guard_filters import FEWEST, LEAST
from depyf.run.bill.guard_time import GuardTime
from depyf.run.records import GuardRecord
from depyf.sources.live.guards.guard_costs import guard_costs
from depyf.sources.live.pure_access import attribute

_GUARDS = "/torch/_dynamo/guards.py"
_DEEPEST = 50
_LEAST = LEAST * 1e-6
"""Seconds; what takes less is not told by line."""
_ROUNDS, _FEW_ROUNDS, _CHECKS = 9, 3, 1
"""Each check empties the caches of the processor first, which takes milliseconds."""


def measured_guards(guards: Sequence[GuardRecord]) -> tuple[float, tuple[GuardTime, ...]] | None:
    """The seconds of one check of the guards that torch is building, and what those of each line take.

    ``guards``: the same, as it reports them.  None where this version of torch does not have them at hand."""
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

    def check(manager: Any, rounds: int) -> float:
        try:
            least = min(float(profile(manager, scope, _CHECKS)) for _ in range(rounds))
        except TypeError:  # torch 2.6 takes no number of checks: it checks for a second, and gives the mean
            least = float(profile(manager, scope))
        return round(least * 1e-6, 9)

    whole = check(root, _ROUNDS)
    told = whole >= _LEAST and len(guards) >= FEWEST
    return whole, guard_costs(root, guards, functools.partial(check, rounds=_FEW_ROUNDS)) if told else ()
