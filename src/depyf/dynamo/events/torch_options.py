"""Which of the options that an advice may name are as advised already.

Input: ``torch._dynamo.config`` as it is at this moment (inside a compilation: with what ``torch.compile(dynamic=True)`` sets).
Output: names, as ``dump/advice/in_force.py`` compares them.  Only plain values of torch's own module are looked at.
"""

from __future__ import annotations

import sys
from typing import Any

from depyf.dump.advice.advice import Switch, SwitchKind
from depyf.dump.advice.registry import SWITCHES

_MISSING = object()


def in_force() -> frozenset[str]:
    """The options that are as advised, and with a colon at the end those that this torch does not have."""
    from torch._dynamo import config

    found: set[str] = set()
    for switch in SWITCHES:
        if switch.kind is SwitchKind.MARK:
            continue
        value = getattr(config, switch.name, _MISSING)
        if value is _MISSING:
            found |= {switch.name, switch.name + ":"}
        else:
            found |= _as_advised(switch, value)
    return frozenset(found)


def _as_advised(switch: Switch, value: Any) -> set[str]:
    if switch.kind is SwitchKind.CONFIG:
        return {switch.name} if repr(value) == switch.value else set()
    if switch.kind is SwitchKind.ADD and type(value) in (set, frozenset):
        names = {name: function for name, function in _FUNCTIONS.items() if _member(function, value)}
        return {f"{switch.name}:{name}" for name in names}
    return set()


_FUNCTIONS = {
    "print": ("builtins", "print"),
    "warnings.warn": ("warnings", "warn"),
    **{
        f"logging.Logger.{method}": ("logging", "Logger", method)
        for method in ("debug", "info", "warning", "warn", "error", "exception", "critical", "log")
    },
}
"""The functions that an advice adds to an option, and where they are."""


def function_named(name: str) -> Any:
    """The function of that name of those that an advice adds to an option; None for another name."""
    path = _FUNCTIONS.get(name)
    if path is None:
        return None
    found: Any = sys.modules.get(path[0])
    for part in path[1:]:
        found = vars(found).get(part) if found is not None else None
    return found


def _member(path: tuple[str, ...], functions: Any) -> bool:
    wanted = function_named(".".join(path).removeprefix("builtins."))
    return wanted is not None and any(known is wanted for known in functions)


def recompile_limit() -> int | None:
    """``torch._dynamo.config.recompile_limit``, also under its older name."""
    from torch._dynamo import config

    limit = getattr(config, "recompile_limit", getattr(config, "cache_size_limit", None))
    return limit if isinstance(limit, int) else None
