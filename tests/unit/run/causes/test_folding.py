"""Lists of compile ids and of names in short."""

from __future__ import annotations

from depyf.run.causes.folding import folded_ids, listed
from depyf.run.records import CompileKey


def ids(*texts: str) -> list[CompileKey]:
    return [CompileKey(0, text) for text in texts]


def test_runs_of_one_function() -> None:
    assert folded_ids(ids("3/3", "3/1", "3/2", "3/5", "4/6", "3/1")) == "3/1 ... 3/3, 3/5, 4/6"
    assert folded_ids(ids("3/1", "3/2")) == "3/1, 3/2"
    assert folded_ids(ids("0/0", "1/1", "2/2"), most=2) == "0/0, 1/1 and 1 more"
    assert folded_ids([*ids("0/0", "0/1"), CompileKey(1, "0/2")]) == "0/0, 0/1, 0/2 (after reset 1)"


def test_names() -> None:
    assert listed(["a"]) == "a"
    assert listed(["a", "b", "a"]) == "a and b"
    assert listed(["a", "b", "c", "d"]) == "a, b and 2 more"
