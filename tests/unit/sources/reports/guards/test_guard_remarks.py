"""What torch writes after a guard."""

from __future__ import annotations

import pytest

from depyf.run.places.place import Place
from depyf.sources.reports.guards.guard_remarks import program_place, split_comment


@pytest.mark.parametrize(
    "text, place",
    [
        ("n == 2  # return x * n  # home/me/x.py:3 in f", Place("home/me/x.py", 3, "f", "return x * n")),
        ("n == 2  # return x * n  # home/me/x.py:3 in f (why)", Place("home/me/x.py", 3, "f", "return x * n")),
        ("n == 2  # (_dynamo/output_graph.py:3375 in trim)", Place("_dynamo/output_graph.py", 3375, "trim", "")),
        ("n == 2  # f(1)  # (home/me/x.py:3 in f)", Place("home/me/x.py", 3, "f", "f(1)")),
        ("n == 2", None),
    ],
)
def test_place(text: str, place: Place | None) -> None:
    guard, found, _ = split_comment(text, lambda name: name)
    assert (guard, found) == ("n == 2", place)


def test_places_of_dynamo_are_none_of_the_program() -> None:
    for name in ("_dynamo/output_graph.py", "/x/torch/_dynamo/output_graph.py"):
        assert program_place(Place(name, 1)) is None
    mine = Place("/home/me/my_dynamo/x.py", 1)
    assert program_place(mine) is mine and program_place(None) is None
