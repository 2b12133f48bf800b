"""What is known of a call that torch is about to compile again, beyond its values: who made them, who sets them.

Input: the guards that failed, and the variables of the call.  Output: the same guards, their differences with what is
known.  Looked for only where it can matter: it takes some tens of milliseconds.
"""

from __future__ import annotations

import types
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from depyf.run.guards.difference import OPTION, Difference
from depyf.run.guards.known_kinds import advice
from depyf.run.records import RecompileRecord, RefusalRecord
from depyf.sources.live.calls.batches import BatchSizes, batch_sizes
from depyf.sources.live.calls.schedulers import SetOptions, set_options


@dataclass(frozen=True, slots=True)
class CallFacts:
    """What is known about the values in one call."""

    batches: BatchSizes = field(default_factory=BatchSizes)
    options: SetOptions = field(default_factory=SetOptions)

    def about(self, difference: Difference) -> Difference:
        """``difference`` with what is known about its value."""
        return self.options.about(self.batches.about(difference))

    def of_record(self, record: RecompileRecord) -> RecompileRecord:
        """``record`` with what is known about its values, and with the advice that follows."""
        found = tuple(map(self.about, record.differences))
        if found == record.differences:
            return record
        return replace(record, differences=found, advice=advice(found, record.place))

    def of_refusal(self, record: RefusalRecord) -> RefusalRecord:
        """``record`` with what is known about the values of all failed guards."""
        failed = [replace(one, differences=tuple(map(self.about, one.differences))) for one in record.failed]
        return replace(record, failed=tuple(failed))


@dataclass(frozen=True, slots=True)
class RefusedCall:
    """A call without a fitting entry, until its guards are made.  Holds live objects."""

    code: types.CodeType
    variables: dict[str, Any]
    facts: CallFacts


def call_facts(records: Iterable[RecompileRecord], variables: Mapping[str, Any]) -> CallFacts:
    """What is known about the values of the failed guards in ``records``.  ``variables``: those of the call."""
    differences = [one for record in records for one in record.differences]
    return CallFacts(
        batch_sizes() if any(one.what == "size" for one in differences) else BatchSizes(),
        set_options(variables) if any(OPTION in one.roles for one in differences) else SetOptions(),
    )
