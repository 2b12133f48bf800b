"""Why a cache entry ran that no longer fits: what changed, and no guard looks at it.

Hooks: torch leaves them out of the guards while ``skip_nnmodule_hook_guards`` is on.  The claim is checked: the call as
Python without these hooks does what the entry did.  Anything else: ``dropped_guards.py``.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from depyf.actions.comparing.call_outcome import CallOutcome
from depyf.actions.comparing.entries.dropped_guards import dropped
from depyf.sources.live.caches.entries import LiveEntry
from depyf.sources.live.pure_access import own_attributes

if TYPE_CHECKING:
    from depyf.actions.comparing.against_python import Calls

_HOOKS = {
    "_forward_hooks": "forward hook",
    "_forward_pre_hooks": "forward pre-hook",
    "_backward_hooks": "backward hook",
    "_backward_pre_hooks": "backward pre-hook",
}
_MOST = 16
"""How many hooks are tried one by one."""


@dataclass(frozen=True, slots=True)
class Stale:
    """Why torch ran an entry that no longer fits."""

    causes: tuple[str, ...] = ()
    """A sentence each; () where it is not known."""
    ways: tuple[str, ...] = ()
    """What the program can change."""


def why_stale(calls: Calls, entry: LiveEntry, own: CallOutcome) -> Stale:
    """Why torch ran ``entry`` although it no longer fits.  ``own``: the outcome of the entry."""
    found = _hooks(calls, own)
    if found is not None:
        return found
    with contextlib.suppress(Exception):  # which entry ran is said without it
        return Stale(dropped(calls, entry, own))
    return Stale()


def _hooks(calls: Calls, own: CallOutcome) -> Stale | None:
    import torch

    if not getattr(torch._dynamo.config, "skip_nnmodule_hook_guards", False):
        return None
    hooked = [
        (path, kind, table)
        for path, module in calls.state.modules
        for kind in _HOOKS
        if (table := (own_attributes(module) or {}).get(kind))
    ]
    for tried in [[one] for one in hooked[:_MOST]] + ([hooked] if len(hooked) > 1 else []):
        apart = calls.apart(_without(calls, [table for _, _, table in tried]), own)
        if any(not one.path.rpartition("[")[0].endswith(tuple(_HOOKS)) for one in apart):
            continue
        left_out = (
            f"the entry leaves out the {_HOOKS[kind]} of {path}{_defined(table)}" for path, kind, table in tried[:3]
        )
        setting = "torch._dynamo.config.skip_nnmodule_hook_guards"
        return Stale(
            (*left_out, f"no guard looks at hooks while {setting} is True"),
            ("add hooks before the first call", f"{setting} = False before the first call"),
        )
    return None


def _without(calls: Calls, tables: list[Any]) -> CallOutcome:
    """The call as Python without these hooks."""
    kept = [list(table.items()) for table in tables]
    for table in tables:
        table.clear()
    try:
        return calls.as_python()
    finally:
        for table, items in zip(tables, kept):
            table.clear()
            table.update(items)


def _defined(table: Any) -> str:
    """Where a hook is written."""
    for hook in table.values():
        code = getattr(hook, "__code__", None)
        if code is not None:
            return f", {code.co_filename}:{code.co_firstlineno}"
    return ""
