"""What ``torch.compiler.precompile`` captures or loads at this moment: told by its frames, for it has no compile id.

Input: the stack of the thread, looked at while torch reports something.  Output: ``PrecompileWork``; None where torch
does neither.
"""

from __future__ import annotations

import sys
import types
from dataclasses import dataclass
from typing import Any

from depyf.sources.live.pure_access import attribute

_FILE = "/torch/_precompile.py"
_DRIVER = "_make_dispatcher"
"""What the driver of an artefact calls for each of its frames."""
_DEEPEST = 2000


@dataclass(frozen=True, slots=True)
class PrecompileWork:
    """A capture or a load in progress.  Holds live objects: keep it only while looking."""

    work: int
    """Tells this work from others as long as it lasts."""
    capture: Any = None
    """The capture of one graph; None while an artefact is loaded."""
    code: types.CodeType | None = None
    """The frame whose guards are loaded."""
    number: int = 0
    """The first, second, ... variant of it."""


def precompile_work() -> PrecompileWork | None:
    """The capture or load in progress in this thread; None for none."""
    if "torch._precompile" not in sys.modules:
        return None
    frame: types.FrameType | None = sys._getframe(1)
    driver: types.FrameType | None = None
    loading: types.FrameType | None = None
    for _ in range(_DEEPEST):
        if frame is None:
            break
        name = frame.f_code.co_name
        if name == _DRIVER and driver is None:
            driver = frame
        elif name in ("_runnable_from_pair", "__call__") and _is_own(frame):
            if name == "_runnable_from_pair":
                loading = frame
            elif attribute(frame.f_locals.get("self"), "_module") is not None:
                return PrecompileWork(id(frame.f_locals["self"]), frame.f_locals["self"])
        frame = frame.f_back
    if loading is None:
        return None
    known = driver.f_locals if driver is not None else {}
    code, variants = known.get("target"), known.get("variants")
    if type(code) is not types.CodeType or type(variants) is not list:
        return PrecompileWork(id(loading))
    return PrecompileWork(id(code), None, code, len(variants))


def _is_own(frame: types.FrameType) -> bool:
    return frame.f_code.co_filename.replace("\\", "/").endswith(_FILE)
