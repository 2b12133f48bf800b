"""What the values that guards look at are now, as far as they are reached from the globals of a function.

Input: the guards of a live cache entry.  Output: the same, with ``value`` and ``holds``; nothing of the program is run.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from depyf.run.addresses import without_addresses
from depyf.run.guards.known_kinds import stated
from depyf.run.records import GuardRecord
from depyf.safety.guarded import Door
from depyf.sources.live.caches.entries import LiveEntry
from depyf.sources.live.guards.guard_tree import namespace
from depyf.sources.live.guards.guard_values import evaluate, found_by, parsed
from depyf.sources.live.pure_text import short

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
            return replace(guard, value=short(without_addresses(stated(found)[1])), holds=holds)
    return guard
