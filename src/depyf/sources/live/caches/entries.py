"""torch's cache entries of a code object, as one tuple whatever the torch version.

A part that this torch does not have is None or empty; nothing here raises for what torch lacks.
"""

from __future__ import annotations

import types
from dataclasses import dataclass
from typing import Any

from depyf.run.made import Made
from depyf.sources.live.ahead.precompiled import Dispatch, rest_of_artefact
from depyf.sources.live.caches.loaded_entries import loaded_entries


@dataclass(frozen=True, slots=True)
class LiveEntry:
    """One compiled version of a function.  Holds live objects: keep it only while looking."""

    compile_id: str
    code: types.CodeType
    manager: Any
    globals: dict[str, Any] | None
    backend: Any = None
    made: Made = Made.CALL
    looked_at: dict[str, Any] | None = None
    """The globals that its guards read, if others than those of its code."""

    @property
    def scope(self) -> dict[str, Any]:
        """The globals that its guards look at."""
        return (self.globals if self.looked_at is None else self.looked_at) or {}


def cache_entries(code: types.CodeType) -> tuple[LiveEntry, ...]:
    """The entries of ``code`` that torch may run, in the order it tries them; () for none.  For a resume function of a
    loaded artefact: its variants."""
    loaded = rest_of_artefact(code)
    if loaded is not None:
        dispatch, frame = loaded
        return variants_of(dispatch, f"loaded{frame}")
    try:
        from torch._C._dynamo.eval_frame import _debug_get_cache_entry_list as get_entries
    except ImportError:
        return ()
    entries = [
        LiveEntry(one.compile_id, one.code, one.manager, one.globals, None, Made.CALL_LOADED)
        for one in loaded_entries(code)
    ]
    for entry in get_entries(code):
        code_now: Any = entry.code
        if not isinstance(code_now, types.CodeType):  # given up: what it guarded is gone, or depyf.debug() has ended
            continue
        manager = getattr(entry, "guard_manager", None)
        scope = getattr(manager, "global_scope", None)
        found = scope.get("G") if isinstance(scope, dict) else None
        entries.append(
            LiveEntry(
                str(getattr(entry, "compile_id", "")),
                entry.code,
                manager,
                found if isinstance(found, dict) else None,
                getattr(entry, "backend", None),
            )
        )
    return tuple(entries)


def variants_of(dispatch: Dispatch, frame: str, backend: Any = None) -> tuple[LiveEntry, ...]:
    """The variants of a frame of a loaded artefact; ``frame``: how it is called."""
    return tuple(
        LiveEntry(f"{frame}/{place}", code, manager, dispatch.scope, backend, Made.PRECOMPILED)
        for place, (manager, code) in enumerate(dispatch.variants)
    )


def guard_text(entry: LiveEntry) -> str:
    """The guard tree as torch prints it; "" for an entry whose guards were deleted."""
    if entry.manager is None or type(entry.manager).__name__.startswith("Deleted"):
        return ""
    return str(entry.manager)
