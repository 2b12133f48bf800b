"""Conditions on sizes are read as torch prints them, and mean the same after each step."""

from __future__ import annotations

import random

import pytest

from depyf.run.shapes.size_expression import (
    conjuncts,
    evaluator,
    read_size_expression,
    simplified,
    substituted,
    written,
)

SHOWN = [
    ("Eq(2*s67, 2*s94)", "s67 == s94"),
    ("256*s94 <= 128*s35", "s35 >= 2*s94"),
    ("Eq(s27*s53*s77, 4*s27*s77*((s53//4)))", "s53 % 4 == 0"),
    ("4*s27*s53*(s77 - 1) + 16*((s53//4)) <= 4*s27*s53*(s77 - 1) + 4*s53", "s53 >= 4*(s53//4)"),
    ("~(Eq(2*((s0//4)), (s0//2)) & Eq(s1, 3))", "not (2*(s0//4) == s0//2 and s1 == 3)"),
    ("1 < ((s53//4))", "s53//4 > 1"),
    ("3*s53*s27 <= 20480", "3*s27*s53 <= 20480"),
    ("Eq(PythonMod(s51, 5), 0)", "s51 % 5 == 0"),
    ("2 <= L['x'].size()[0]", "L['x'].size()[0] >= 2"),
    ("Ne(s0 - s1, 0)", "s0 != s1"),
    ("-s0 < -4", "s0 > 4"),
]
POSITIVE = frozenset({"s0", "s1", "s27", "s53", "s77", "s67", "s94", "s35"})


@pytest.mark.parametrize(("text", "shown"), SHOWN)
def test_shown_in_few_words(text, shown):
    expression = read_size_expression(text)
    assert expression is not None
    assert written(simplified(expression, POSITIVE)) == shown


@pytest.mark.parametrize(
    "text", ["", "s0 +", "f(s0)", "x if y else z", "s0 == 'a'", "lambda: 0", "(" * 5000, "s0 ... (12 characters)"]
)
def test_what_is_no_condition(text):
    assert read_size_expression(text) is None


def sides(random_: random.Random, depth: int) -> str:
    if depth == 0:
        return random_.choice(["a", "b", "c", str(random_.randint(1, 9))])
    one, other = sides(random_, depth - 1), sides(random_, depth - 1)
    return random_.choice(
        [
            f"({one} + {other})",
            f"({one} - {other})",
            f"{one}*{other}",
            f"({one}*{other})//{random_.randint(1, 5)}",
            f"Max({one}, {other})",
        ]
    ).replace("//", " // ")


@pytest.mark.parametrize("seed", range(300))
def test_every_step_keeps_the_meaning(seed):
    """Whatever is simplified, written and read again gives the same answer for the same sizes."""
    random_ = random.Random(seed)
    one, other = (f"({sides(random_, random_.randint(0, 3))})" for _ in range(2))
    text = random_.choice(
        [f"Eq({one}, {other})", f"Ne({one}, {other})", f"{one} <= {other}", f"{one} > {other}", f"~({one} < {other})"]
    )
    expression = read_size_expression(text)
    assert expression is not None
    short = simplified(expression, frozenset("abc"))
    again = read_size_expression(written(short))
    assert again is not None
    for _ in range(40):
        known = {name: random_.randint(1, 40) for name in "abc"}
        value = bool(evaluator(expression)(known))
        assert bool(evaluator(short)(known)) == value, written(short)
        assert bool(evaluator(again)(known)) == value, written(short)


def test_substituted_and_conjuncts():
    expression = read_size_expression("Eq(s0, 2*s1) & (s0 >= 4)")
    by = read_size_expression("s2 + 1")
    assert expression is not None and by is not None
    assert [written(part) for part in conjuncts(substituted(expression, {"s0": by}))] == [
        "s2 + 1 == 2*s1",
        "s2 + 1 >= 4",
    ]
    assert expression.names == ("s0", "s1") and expression.numbers == (2, 4)
