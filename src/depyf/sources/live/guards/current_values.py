"""What the values that guards look at are now, as far as they are reached from the globals of a function.

Input: the guards of a live cache entry.  Output: the same, with ``value`` and ``holds``; nothing of the program is run.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from dataclasses import replace

from depyf.run.addresses import without_addresses
from depyf.run.guards.guard_kind import operands_of
from depyf.run.guards.kinds.object_guard import KIND as IDENTITIES
from depyf.run.guards.known_kinds import stated
from depyf.run.records import GuardRecord
from depyf.safety.guarded import Door
from depyf.sources.live.caches.entries import LiveEntry
from depyf.sources.live.events.call_values import CallValues
from depyf.sources.live.guards.guard_tree import namespace
from depyf.sources.live.guards.guard_values import LiveLook, evaluate, found_by, parsed
from depyf.sources.live.pure_text import module_name, short

_OF_A_CALL = re.compile(r"\bL\[")
_OF_GLOBALS = re.compile(r"\bG\[")


def with_values(guards: Iterable[GuardRecord], entry: LiveEntry) -> tuple[GuardRecord, ...]:
    """``guards`` of ``entry``; those that look at an argument of a call are as they were: there is no call now."""
    names = namespace(entry, {})
    return tuple(_with_value(guard, names) if _told(guard) else guard for guard in guards)


def _told(guard: GuardRecord) -> bool:
    return _OF_GLOBALS.search(guard.expression) is not None and _OF_A_CALL.search(guard.expression) is None


def _with_value(guard: GuardRecord, names: dict[str, object]) -> GuardRecord:
    with Door("the value that a guard looks at could not be read", lambda text: None):
        tree = parsed(guard.expression)
        holds = evaluate(tree, names)
        found = found_by(tree, names, holds)
        if not any(difference.found.missing for difference in found):
            value = short(without_addresses(stated(found)[1]))
            return replace(guard, value=value, holds=holds, module=_module(tree, names) if holds else "")
    return guard


def _module(tree: ast.expr, names: dict[str, object]) -> str:
    """The module whose identity a guard asks for; "" for another guard."""
    operands = operands_of(tree, IDENTITIES.checks)
    return module_name(LiveLook(names, CallValues()).value(operands[0])) if operands else ""
