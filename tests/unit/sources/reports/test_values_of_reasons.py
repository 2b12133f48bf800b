"""What torch does not print of a reason to compile again is taken from what failed of the earlier entries."""

from __future__ import annotations

from depyf.run.guards.difference import UNKNOWN, Difference, GuardSide
from depyf.run.guards.known_kinds import recompile_record
from depyf.run.records import FailedGuardRecord, RefusalRecord
from depyf.sources.reports.recompiles import with_values


def difference(source: str, found: GuardSide, least: str = "2") -> Difference:
    return Difference("relation", source, "stride", 0, ">=", GuardSide(least, "int"), found)


def refusal(entry: str, *failed: Difference) -> RefusalRecord:
    return RefusalRecord(entry, tuple(FailedGuardRecord("", None, (one,)) for one in failed))


RECORD = recompile_record("0/1", "2 <= x.stride()[0]", None, (difference("x", UNKNOWN),))
ONE = GuardSide("1", "int")


def test_the_value_is_that_of_the_same_guard_of_the_same_entry() -> None:
    found = with_values(RECORD, [refusal("0/0", difference("L['x']", GuardSide("7", "int"))),
                                 refusal("0/1", difference("L['y']", ONE), difference("L['x']", ONE))])  # fmt: skip
    assert [one.found for one in found.differences] == [ONE] and found.actual == "1"
    assert (found.entry, found.guard, found.place) == (RECORD.entry, RECORD.guard, RECORD.place)


def test_where_nothing_else_is_known_the_record_stays() -> None:
    assert with_values(RECORD, [refusal("0/1", difference("L['x']", ONE, "3"))]) is RECORD
    assert with_values(RECORD, []) is RECORD
