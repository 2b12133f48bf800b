"""A cause, its key, and what stands of it in the manifest."""

from __future__ import annotations

import json
from dataclasses import replace

from depyf.run.advice.advice import AdviceUse
from depyf.run.causes.cause import Cause, CauseKind, Costs
from depyf.run.places.place import Place
from depyf.run.records import CompileKey

CAUSE = Cause(
    CauseKind.RECOMPILES, "Block.forward", Place("train.py", 16, "forward", "self.calls += 1"), "self.calls == 3",
    "h.0", (CompileKey(0, "2/1"), CompileKey(0, "2/2")), Costs(compilations=2), "the counter is a constant",
    (AdviceUse("move-out", (("name", "self.calls"),)),), "self.calls",
)  # fmt: skip


def test_one_cause_however_many_entries_and_whatever_value() -> None:
    later = replace(CAUSE, entries=(CompileKey(0, "5/1"),), asked="self.calls == 4", costs=Costs(python=1))
    assert later.key == CAUSE.key
    assert replace(CAUSE, subject="self.scale").key != CAUSE.key
    assert replace(CAUSE, kind=CauseKind.BREAKS).key != CAUSE.key
    assert replace(CAUSE, place=None).key != replace(CAUSE, place=None, function="other").key


def test_json() -> None:
    page = json.loads(json.dumps(CAUSE.to_json()))
    assert page["at"] == "train.py:16"
    assert page["line"] == "self.calls += 1"
    assert [key["compile_id"] for key in page["compile_ids"]] == ["2/1", "2/2"]
    assert page["costs"] == {"compilations": 2, "python": 0, "operations": 0, "breaks": 0}
    assert page["advice"] == [{"id": "move-out", "values": {"name": "self.calls"}}]
