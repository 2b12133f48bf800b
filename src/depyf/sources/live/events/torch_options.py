"""Which of the options that an advice may name are as advised already.

Input: ``torch._dynamo.config`` as it is at this moment (inside a compilation: with what ``torch.compile(dynamic=True)``
sets). Output: names, as ``dump/advice/in_force.py`` compares them.  Only plain values of torch's own module are looked
at.
"""

from __future__ import annotations

from typing import Any

from depyf.run.advice.advice import Switch, SwitchKind
from depyf.run.advice.registry import DECLARED, STATIC, SWITCHES
from depyf.sources.reports.advised_functions import advised_functions

SPEC = "_dynamic_shapes_spec"
"""The option that torch sets while it compiles what has ``dynamic_shapes=``."""
_MISSING = object()


def in_force() -> frozenset[str]:
    """The keys of the options that already are as advised, and, with a colon at the end, of those that torch lacks."""
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
    if getattr(config, "automatic_dynamic_shapes", True) is False:
        found.add(STATIC)
    if getattr(config, SPEC, None) is not None:
        found.add(DECLARED)
    return frozenset(found)


def _as_advised(switch: Switch, value: Any) -> set[str]:
    if switch.kind is SwitchKind.CONFIG:
        return {switch.name} if repr(value) == switch.value else set()
    if switch.kind is SwitchKind.ADD and type(value) in (set, frozenset):
        return {
            f"{switch.name}:{name}"
            for name, function in advised_functions()
            if any(known is function for known in value)
        }
    return set()


def recompile_limit() -> int | None:
    """``torch._dynamo.config.recompile_limit``, also under its older name."""
    from torch._dynamo import config

    limit = getattr(config, "recompile_limit", getattr(config, "cache_size_limit", None))
    return limit if isinstance(limit, int) else None
