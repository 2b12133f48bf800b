"""torch's options as a log tells them: as JSON in the metrics of each compilation.

Input: the data of ``compilation_metrics``.  Output: the options that are as an advice would have them, named as
``torch_options.in_force`` names them in the process itself.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from depyf.run.advice.advice import SwitchKind
from depyf.run.advice.registry import DECLARED, STATIC, SWITCHES

_LONGEST = 1 << 20


def options_in(data: Mapping[str, Any]) -> dict[str, object]:
    """``torch._dynamo.config`` by name; {} where the torch that wrote the log did not tell it."""
    text = data.get("dynamo_config")
    try:
        found = json.loads(text) if isinstance(text, str) and len(text) <= _LONGEST else {}
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def logged_in_force(options: Mapping[str, object]) -> frozenset[str]:
    """The keys of the options that were as advised, and, with a colon at the end, of those that the torch lacked.
    Options that JSON cannot hold (functions) count as defaults."""
    if not options:
        return frozenset()
    found: set[str] = set()
    for switch in SWITCHES:
        if switch.kind is not SwitchKind.CONFIG:
            continue
        if switch.name not in options:
            found |= {switch.name, switch.name + ":"}
        elif repr(options[switch.name]) == switch.value:
            found.add(switch.name)
    if options.get("automatic_dynamic_shapes") is False:
        found.add(STATIC)
    if options.get("_dynamic_shapes_spec") is not None:
        found.add(DECLARED)
    return frozenset(found)


def logged_limit(options: Mapping[str, object]) -> int | None:
    """The ``recompile_limit``, also under its older name ``cache_size_limit``; None for none."""
    limit = options.get("recompile_limit", options.get("cache_size_limit"))
    return limit if isinstance(limit, int) else None
