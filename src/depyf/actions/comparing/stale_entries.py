"""Why a cache entry ran that no longer fits: what changed, and no guard looks at it.

Hooks: torch leaves them out of the guards while ``skip_nnmodule_hook_guards`` is on.  The claim is checked: the call as
Python without these hooks does what the entry did.  Anything else: a value that an entry made anew guards, and the
entry that ran does not.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from depyf.actions.comparing.call_outcome import CallOutcome
from depyf.run.advice.source_names import named
from depyf.run.guards.guard_kind import operands_of, sources_in, tree_of
from depyf.sources.live.caches.entries import LiveEntry
from depyf.sources.live.guards.guard_tree import live_guards
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
_NAMED = 4
"""How many values are named."""
_OF_TENSORS = ("check_tensor", "no_dynamic_marks")
_OF_TORCH = ("G['__import_", "G['__builtins_dict__", "utils_device")
"""What torch guards of itself."""


@dataclass(frozen=True, slots=True)
class Stale:
    """Why an entry ran that no longer fits."""

    causes: tuple[str, ...] = ()
    """A sentence each; () where it is not known."""
    ways: tuple[str, ...] = ()
    """What the program can change."""


def why_stale(calls: Calls, entry: LiveEntry, own: CallOutcome, anew: list[str]) -> Stale:
    """``own``: what the entry did; ``anew``: the guards of an entry made anew."""
    return _hooks(calls, own) or Stale(_unguarded(entry, anew))


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


def guard_texts(entries: Iterable[LiveEntry]) -> list[str]:
    """The guards of these entries as Python."""
    return [guard.record.expression for entry in entries for guard in live_guards(entry)]


def _unguarded(entry: LiveEntry, anew: list[str]) -> tuple[str, ...]:
    """Values that an entry made anew guards (``anew``), and the one that ran does not."""
    looked_at = {source for text in guard_texts([entry]) for source in _sources(text)}
    missing: dict[str, None] = {}
    for text in anew:
        tensor = bool(operands_of(text, _OF_TENSORS))  # its numbers are no part of an entry
        of_torch = any(mark in text for mark in _OF_TORCH)
        if not tensor and not of_torch:
            missing |= dict.fromkeys(source for source in _sources(text) if source not in looked_at)
    within = {source for source in missing for other in missing if other != source and other.startswith(source)}
    names = [named(source) for source in missing if source not in within]
    said = ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")
    return (f"no guard of the entry looks at {said}, and an entry made anew has one",) if names else ()


def _sources(text: str) -> list[str]:
    tree = tree_of(text)
    return [] if tree is None else sources_in(tree)
