"""All guards of all earlier entries that failed for the call for which torch makes another entry.

torch names the first guard of each.  The guards of the entry that is being made hold for the call, so of an earlier
entry only those can have failed that the new one does not have: few, and they are asked.

Input: the call, its guards, the guards of the earlier entries.  Output: a ``RefusalRecord`` for each entry that may
still run. Asked while torch compiles, when the values are those of the call.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from depyf.run.advice.source_names import named
from depyf.run.guards.known_kinds import UNSAID
from depyf.run.records import FailedGuardRecord, GuardRecord, RecompileRecord, RefusalRecord
from depyf.sources.live.caches.entries import cache_entries
from depyf.sources.live.events.call_values import CallValues, inner_variables
from depyf.sources.live.guards.guard_order import GuardOrder
from depyf.sources.live.guards.guard_tree import namespace
from depyf.sources.live.guards.guard_values import evaluate, found_by
from depyf.sources.reports.guards.guard_remarks import program_place


def all_refusals(
    code: types.CodeType,
    variables: dict[str, Any],
    own: Iterable[GuardRecord],
    guards_of: Callable[[str], tuple[GuardRecord, ...]],
    told: Mapping[str, RecompileRecord],
) -> tuple[RefusalRecord, ...]:
    """The guards of all earlier entries of ``code`` that fail for ``variables``.  ``own``: the guards of the new entry;
    ``guards_of``: compile id -> guards; ``told``: compile id -> the failed guard that torch named."""
    holds = frozenset(guard.expression for guard in own)
    inner = inner_variables(code)
    found = []
    for entry in cache_entries(code):
        others = [guard for guard in guards_of(entry.compile_id) if guard.expression not in holds]
        names = namespace(entry, variables)
        call = CallValues(variables, entry.globals or {}, inner, code=code)
        failed = tuple(_failed(others, names, call))
        reported = told.get(entry.compile_id)
        if reported is not None and not _has(failed, reported):
            failed = (FailedGuardRecord(reported.guard, reported.place, reported.differences), *failed)
        found.append(RefusalRecord(entry.compile_id, failed))
    return tuple(found)


def _failed(guards: Iterable[GuardRecord], names: dict[str, Any], call: CallValues) -> Iterable[FailedGuardRecord]:
    order = GuardOrder(names)
    for guard in guards:
        expression = guard.expression
        if not expression or expression.partition("(")[0] in UNSAID:
            continue
        if order.follows(expression) and not order.may_ask(expression):
            continue  # the value differs already
        if not evaluate(expression, names):
            order.failed(expression)
            yield FailedGuardRecord(expression, program_place(guard.place), found_by(expression, names, False, call))


def _has(failed: Iterable[FailedGuardRecord], reported: RecompileRecord) -> bool:
    """Whether what torch named is among them: a guard on the same value."""
    values = {named(difference.source) for difference in reported.differences}
    return any(named(difference.source) in values for one in failed for difference in one.differences)
