"""Floats that torch made constants again: which guards tell it, and what is advised."""

from __future__ import annotations

import pytest

from depyf.run.advice.number_operands import numbers_of, taken_as_number
from depyf.run.advice.registry import use
from depyf.run.advice.symbol_places import places_of
from depyf.run.places.place import Place
from depyf.run.records import GuardRecord, RecompileRecord, SymbolRecord

PASS = Place("/x/torch/fx/passes/_tensorify_python_scalars.py", 429)
LINE = Place("train.py", 7, "loss", "y = x.clamp(0, 1 + clip)")
SYMBOL = SymbolRecord("zf0", "L['clip']", "0.1", "", LINE)
DYNAMIC = use("compile-dynamic")
TENSOR = use("number-as-tensor", name="clip")


def record(guard: str, place: Place | None) -> RecompileRecord:
    return RecompileRecord("0/0", guard, place, "0.2", "0.1", (DYNAMIC,))


def guard(expression: str, place: Place | None = PASS) -> GuardRecord:
    return GuardRecord("", expression, expression, "L['clip']", place)


@pytest.mark.parametrize("text", ("(1.0 + clip) == 1.2", "(1.0 + L['clip']) == 1.2"))
def test_the_guard_of_the_pass_itself(text: str) -> None:
    found = taken_as_number(record(text, PASS), places=places_of((SYMBOL,)))
    assert (found.place, found.advice) == (LINE, (TENSOR,))
    assert taken_as_number(record(text, PASS)).place is None


def test_the_entry_that_was_made_has_the_float_as_a_constant_again() -> None:
    found = taken_as_number(record("clip == 0.2", LINE), numbers_of((guard("(1.0 + L['clip']) == 1.1"),)))
    assert (found.place, found.advice) == (LINE, (TENSOR,))


def test_of_a_module() -> None:
    found = taken_as_number(record("self.clip == 0.2", LINE), numbers_of((guard("(1.0 + L['self'].clip) == 1.1"),)))
    assert found.advice == (use("tensor-in-module", name="self.clip"),)


@pytest.mark.parametrize(
    ("text", "made"),
    (
        ("clip == 0.2", guard("(1.0 + L['clip']) == 1.1", LINE)),  # the program asked
        ("clip == 0.2", guard("(1.0 + L['other']) == 1.1")),
        ("clip == other", guard("(1.0 + L['clip']) == 1.1")),
        ("tensor 'x' size mismatch at index 0. expected 2, actual 3", guard("(1.0 + L['clip']) == 1.1")),
    ),
)
def test_other_guards_are_as_they_were(text: str, made: GuardRecord) -> None:
    known = record(text, LINE)
    assert taken_as_number(known, numbers_of((made,))) is known
