"""Records and JSON values: what is written is read back, and nothing of another type is."""

from __future__ import annotations

import enum
import json
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from depyf.run.bill.lowering import CostKind, LoweringCost
from depyf.run.places.place import Place
from depyf.run.records import ELSEWHERE, CodeRecord, EntryRecord, FunctionRecord, GraphRecord, GuardRecord
from depyf.run.run import SourceRecord, TimesRecord
from depyf.run.store.codec import NotThat, coding_of, made, plain
from depyf.run.store.lines import KINDS, DroppedLine, EntryLine, NoteLine, RunLine


class Colour(enum.Enum):
    RED = "red"


@dataclass(frozen=True)
class Inner:
    name: str
    number: int | None = None


@dataclass(frozen=True)
class Outer:
    text: str
    flag: bool = False
    share: float = 0.0
    pair: tuple[int, str] = (0, "")
    inner: tuple[Inner, ...] = ()
    one: Inner | None = None
    colour: Colour = Colour.RED
    table: dict[str, tuple[int, ...]] = field(default_factory=dict)
    value: int | float | bool | None = None
    beside: tuple[str, ...] = field(metadata=ELSEWHERE, default=())


OUTER = Outer("a", True, 0.5, (3, "b"), (Inner("c"), Inner("d", 4)), Inner("e"), Colour.RED, {"f": (1, 2)}, 7)


def test_what_is_written_is_read_back() -> None:
    page = json.loads(json.dumps(plain(OUTER)))
    assert made(Outer, page, "outer") == OUTER


def test_defaults_and_fields_that_are_elsewhere_are_left_out() -> None:
    assert plain(Outer("a", beside=("b",))) == {"text": "a"}
    assert made(Outer, {"text": "a"}, "outer") == Outer("a")


def test_a_field_is_read_under_the_name_that_an_earlier_depyf_gave_it() -> None:
    """Lines that make kernels move memory had a ``file`` once."""
    now = {"kind": "copy", "bytes": 8, "reason": "r", "lines": [{"filename": "a.py", "line": 4, "function": "f"}]}
    before = {**now, "lines": [{"file": "a.py", "line": 4, "function": "f"}]}
    cost = LoweringCost(CostKind.COPY, 8, "r", lines=(Place("a.py", 4, "f"),))
    assert made(LoweringCost, before, "cost") == made(LoweringCost, now, "cost") == cost
    assert plain(cost) == now


@dataclass(frozen=True)
class Renamed:
    origins: tuple[str, ...] = field(metadata={"as": "from"})
    text: str = field(metadata={"as": "file"}, default="")


def test_a_field_has_another_name_in_json_where_its_class_says_so() -> None:
    page = {"from": ["a"], "file": "b"}
    assert plain(Renamed(("a",), "b")) == page
    assert made(Renamed, page, "it") == Renamed(("a",), "b")
    with pytest.raises(NotThat, match="it has no 'from'"):
        made(Renamed, {"origins": ["a"]}, "it")
    with pytest.raises(NotThat, match=r"it\.file is not a text"):
        made(Renamed, {"from": [], "file": 3}, "it")


@pytest.mark.parametrize("value", [10**400, -(10**400), True, "1.0"])
def test_a_number_is_one_that_can_be_reckoned_with(value: object) -> None:
    with pytest.raises(NotThat, match=r"outer\.share is not a number"):
        made(Outer, {"text": "a", "share": value}, "outer")


def test_what_this_depyf_does_not_know_is_ignored() -> None:
    assert made(Outer, {"text": "a", "of a newer depyf": [1]}, "outer") == Outer("a")


@pytest.mark.parametrize(
    "change, where",
    [
        ({"text": 1}, "outer.text is not a text"),
        ({"flag": 1}, "outer.flag is not true or false"),
        ({"share": True}, "outer.share is not a number"),
        ({"pair": [1]}, "outer.pair is not a list of 2"),
        ({"pair": [1, 2]}, "outer.pair[1] is not a text"),
        ({"inner": {}}, "outer.inner is not a list"),
        ({"inner": [{"name": "c"}, {}]}, "outer.inner[1] has no 'name'"),
        ({"one": []}, "outer.one is not an object"),
        ({"colour": "blue"}, "outer.colour is none of red"),
        ({"table": {"f": ["g"]}}, "outer.table.f[0] is not a whole number"),
        ({"value": "7"}, "outer.value is not a whole number or a number or true or false"),
    ],
)
def test_another_type_is_told_with_its_place(change: dict[str, Any], where: str) -> None:
    with pytest.raises(NotThat) as caught:
        made(Outer, {"text": "a", **change}, "outer")
    assert str(caught.value) == where


def test_a_field_of_another_type_is_refused_when_the_coding_is_made() -> None:
    @dataclass
    class Wrong:
        value: set[int]

    Wrong.__annotations__["value"] = set[int]
    with pytest.raises(TypeError):
        coding_of(Wrong)


RECORDS = [
    st.from_type(kind)
    for kind in (GuardRecord, CodeRecord, FunctionRecord, EntryRecord, GraphRecord, TimesRecord, SourceRecord)
]


@given(st.one_of(RECORDS))
def test_every_record_is_read_back(record: Any) -> None:
    page = json.loads(json.dumps(plain(record)))
    back = made(type(record), page, "record")
    assert repr(plain(back)) == repr(plain(record))  # NaN is not itself; what is elsewhere is not written
    assert type(back) is type(record)


def test_each_line_has_a_coding() -> None:
    assert {RunLine, EntryLine, DroppedLine, NoteLine} < set(KINDS.values())
    for kind in KINDS.values():
        coding_of(kind)
