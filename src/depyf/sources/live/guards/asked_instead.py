"""The guard that failed where torch does not say which: what it raised is no guard.

Input: why an earlier entry did not fit, while torch reports it.  Output: the same with the guard and its values, asked
of the entry in the cache.
"""

from __future__ import annotations

from depyf.run.advice.source_names import without_mapping
from depyf.run.guards.kinds.opaque_guard import UNTOLD
from depyf.run.guards.known_kinds import UNKNOWN_KIND, plain, recompile_record
from depyf.run.records import RecompileRecord
from depyf.sources.live.caches.entries import cache_entries
from depyf.sources.live.events.call_values import refused_call
from depyf.sources.live.guards.ask import ask_entry
from depyf.sources.reports.guards.guard_remarks import program_place


def asked_instead(record: RecompileRecord) -> RecompileRecord:
    """``record``, or one with the failed guard where torch names none.  Call it while torch reports a recompilation."""
    if not any(difference.what in UNTOLD for difference in record.differences):
        return record
    call = refused_call()
    if call is None:
        return record
    code, variables = call
    for entry in cache_entries(code):
        if entry.compile_id == record.entry:
            steps = ask_entry(entry, variables, code=code).failing_steps
            step = next((step for step in steps if step.differences and step.differences[0].kind != UNKNOWN_KIND), None)
            if step is not None:
                guard = without_mapping(plain(step.expression))
                return recompile_record(record.entry, guard, program_place(step.place), step.differences)
    return record
