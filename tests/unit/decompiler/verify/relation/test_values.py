"""Interned values: constants no program can tell apart are one value, all others are not."""

from __future__ import annotations

import math
from typing import Any

import pytest

from depyf.decompiler.verify.relation.values import Values, const_key

DISTINCT: list[Any] = [
    0, 0.0, -0.0, False, 0j, -0j, complex(0, -0.0), None, ..., "", b"", (), frozenset(), "0", (0,), (0.0,), (-0.0,), (False,),
    ((0,),), frozenset({0}), frozenset({0.0}), frozenset({(0,)}), frozenset({(False,)}), math.nan, math.inf, 1, True, 1.0,
]  # fmt: skip


def test_constants_are_typed() -> None:
    values = Values()
    numbers = [values.const(item) for item in DISTINCT]
    assert len(set(numbers)) == len(DISTINCT)
    assert [values.const(item) for item in DISTINCT] == numbers


def test_equal_constants_are_one_value() -> None:
    assert const_key((1, ("a", -0.0))) == const_key((1, ("a", -0.0)))
    assert const_key(float("nan")) == const_key(float("nan"))
    assert const_key([1]) != const_key([1])  # by identity


def test_strings_are_joined_and_flattened() -> None:
    values = Values()
    x = values.typed("str")
    a, b = values.const("a"), values.const("b")
    assert values.string_of((a, b)) == values.const("ab")
    assert values.string_of((values.string_of((a, x)), b)) == values.string_of((a, x, b))
    assert values.string_of((x,)) == x and values.string_of(()) == values.const("")


@pytest.mark.parametrize(
    ("op", "arg", "operands", "result"),
    [
        ("BINARY", "+", (1, 2), 3),
        ("BINARY", "+", ("a", "b"), "ab"),
        ("BINARY", "/", (1, 2), 0.5),
        ("BINARY", "/", (1, 0), None),
        ("BINARY", "**", (10, 100000), None),
        ("BINARY", "*", ("a", 10**9), None),
        ("BINARY", "+", (1, "a"), None),
        ("UNARY", "-", (True,), -1),
        ("UNARY", "~", (True,), None),  # warns
        ("COMPARE", "==", (b"a", "a"), None),  # may warn
        ("COMPARE", "<", (1, 2.0), True),
        ("COMPARE", "<", (1, 2j), None),
    ],
)
def test_folding(op: str, arg: str, operands: tuple[Any, ...], result: Any) -> None:
    values = Values()
    found = values.fold(op, arg, tuple(values.const(item) for item in operands))
    assert found == (None if result is None else values.const(result))


def test_not_of_not_is_the_value() -> None:
    values = Values()
    x = values.typed("bool")
    assert values.negated(values.negated(x)) == x
    assert values.negated(values.true) == values.false
    assert values.truth(values.const(())) is False and values.truth(values.const(object())) is None


def test_identity_is_known_for_singletons_and_constants_of_two_types() -> None:
    values = Values()
    x, y = values.new(), values.new()
    assert values.identity(x, x) == values.identity(values.none, values.none) == values.true
    assert values.identity(values.true, values.false) == values.false
    assert (
        values.identity(values.none, values.const(0)) == values.identity(values.const(1), values.true) == values.false
    )
    assert values.identity(x, y) == values.identity(y, x) not in (values.true, values.false)
    assert values.identity(values.const(1000), values.const(1000)) != values.true  # equal, perhaps two objects
    built = values.tuple_of((x,))
    assert values.identity(built, built) not in (values.true, values.false)
