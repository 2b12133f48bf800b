"""Which entry torch runs for a call: its search (order, backend, guards), repeated without running or changing
anything.

Input: the entries of a code object, and the locals of the call, in the thread that is about to make it.
"""

from __future__ import annotations

import sys
import types
from typing import Any

from depyf.sources.live.caches.entries import LiveEntry
from depyf.sources.live.target import innermost_backend


def chosen(
    code: types.CodeType, entries: tuple[LiveEntry, ...], L: dict[str, Any], forced: bool = True
) -> LiveEntry | None:
    """The one of ``entries``, which are those of ``code``, that torch runs for ``L``; None where none fits.
    ``forced``: a backend that the stance forces counts."""
    eval_frame = sys.modules["torch._dynamo.eval_frame"]
    skips = getattr(eval_frame, "_is_skip_guard_eval_unsafe_stance", bool)()
    entries = _of_region(code, entries)
    if any(entry.backend is not entries[0].backend for entry in entries):
        backend = asked_backend(sys._getframe(1), forced)
        entries = tuple(entry for entry in entries if backend is None or entry.backend == backend)
    for entry in entries:
        root = getattr(entry.manager, "diff_guard_root" if skips else "root", None)
        if root is not None and root.check_verbose(L).result:
            return entry
    return None


def _of_region(code: types.CodeType, entries: tuple[LiveEntry, ...]) -> tuple[LiveEntry, ...]:
    """Those that torch looks through: what ``torch.compile(isolate_recompiles=True)`` compiled is kept apart (2.13); it
    comes first for that call, and is not there for others."""
    try:
        from torch._C._dynamo.eval_frame import _get_cache_entries_for_region, get_eval_frame_isolate_recompiles_id
    except ImportError:
        return entries
    regions = dict.fromkeys((get_eval_frame_isolate_recompiles_id(), -1))
    codes = [entry.code for region in regions for entry in _get_cache_entries_for_region(code, region)]
    return tuple(entry for one in codes for entry in entries if entry.code is one)


def asked_backend(frame: types.FrameType | None, forced: bool = True) -> Any:
    """The backend of the innermost ``torch.compile`` wrapper on the stack; None without a wrapper.  ``forced``: a
    backend that the stance forces counts as well."""
    eval_frame = sys.modules["torch._dynamo.eval_frame"]
    while frame is not None and frame.f_code.co_name != "compile_wrapper":
        frame = frame.f_back
    stance = getattr(eval_frame._stance, "backend", None) if forced else None
    if stance is not None:
        return innermost_backend(eval_frame.get_compiler_fn(stance))
    return innermost_backend(frame.f_locals.get("callback")) if frame is not None else None
