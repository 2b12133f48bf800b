"""Constants are computed by the interpreter that runs depyf: only what every version computes alike, the rest stays an operation."""

from __future__ import annotations

import pytest

from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.driver.pipeline import decompile_unit
from depyf.decompiler.verify import Status, verify
from depyf.decompiler.verify.assumptions import SEED_NOTE
from depyf.decompiler.verify.recompiling.recompile import recompile
from needs import need
from tools.env.interpreters import VERSIONS, number

NOT_COMPUTED = {
    "a real number times an imaginary one": (
        "x = -0.0; return x * 1j",
        ("(-0.0 * 1j)", "0j", "-0j", "(0j * (-1 + 0j))"),
    ),
    "a real number minus an imaginary one": ("x = -0.0; return x - 1j", ("(-0.0 - 1j)", "(0 - 1j)", "-1j")),
    "complex numbers": ("x = 1e309 + 1j; return x * x", ("((1e309 + 1j) * (1e309 + 1j))",)),
    "a power of a float": ("x = 2.5; return x ** 0.3", (repr(2.5**0.3),)),
    "a negative power": ("x = 3; return x ** -1", (repr(3**-1),)),
    "a remainder of floats": ("x = 7.5; return x % 2", ("1.5",)),
    "floats divided without a rest": ("x = 7.5; return x // 2", ("3.0",)),
    "no number": ("x = 1e309; return x - x", ("(1e309 - 1e309)", "-(1e309 - 1e309)")),
}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", NOT_COMPUTED)
def test_what_is_not_the_same_in_each_version_is_no_constant(version: str, name: str) -> None:
    body, results = NOT_COMPUTED[name]
    original = function(version, body)
    for result in results:
        text = function(version, f"{body.partition(';')[0]}; return {result}")
        assert not verify(original, text)[0].proven
        assert not verify(text, original)[0].proven
    assert verify(original, original)[0].proven


COMPUTED = {
    "whole numbers": ("x = 7; return x * 3 - x // 2", "x = 7; return 18"),
    "their quotient": ("x = 7; return x / 2", "x = 7; return 3.5"),
    "floats": ("x = 0.1; return x + 0.2", "x = 0.1; return 0.1 + 0.2"),
    "text": ("x = 'a'; return x + 'b'", "x = 'a'; return 'ab'"),
}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", COMPUTED)
def test_the_rest_is(version: str, name: str) -> None:
    body, result = COMPUTED[name]
    assert verify(function(version, body), function(version, result))[0].proven


LITERALS = (
    "-0.0", "0j", "-0j", "-0.0 * 1j", "-0.0 - 0j", "0.0 - 0j", "1j", "-1j", "-(0 - 1j)", "0 - 1j", "-0.0 + 1j", "-(1 + 0j)", "1 - 0j",
    "-(1 - 0j)", "1e309", "-1e309", "1e309j", "-1e309j", "1 - 1e309j", "1e309 - 1e309", "-(1e309 - 1e309)",
)  # fmt: skip


@pytest.mark.parametrize("version", VERSIONS)
def test_each_literal_is_the_same_number(version: str) -> None:
    for literal in LITERALS:
        found = decompile_unit(function(version, f"return {literal}"))
        assert found.verdicts[0].status is Status.IDENTICAL, (literal, found.source)


SEARCHED_OTHERWISE = (
    ("{-1, -2}", "{-2, -1}"),
    ("{-1, -2, 3}", "{3, -2, -1}"),
    ("{(-1,), (-2,)}", "{(-2,), (-1,)}"),
    ("{-1j, -2j}", "{-2j, -1j}"),
    ("{0, 2305843009213693951}", "{2305843009213693951, 0}"),
)
"""Numbers that hash alike: what is sought is compared with one after the other."""


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("operator", ["in", "not in"])
def test_the_order_in_which_a_set_is_searched(version: str, operator: str) -> None:
    for one, other in SEARCHED_OTHERWISE:
        first, second = (function(version, f"return x {operator} {text}") for text in (one, other))
        assert not verify(first, second)[0].proven
        assert not verify(second, first)[0].proven
        assert decompile_unit(first).verdicts[0].proven


@pytest.mark.parametrize("version", VERSIONS)
def test_among_text_it_is_another_in_each_process(version: str) -> None:
    first, second = (function(version, f"return x in {text}") for text in ("{'a', -1, -2}", "{'a', -2, -1}"))
    assert all(SEED_NOTE in verify(first, other)[0].reason for other in (first, second))
    assert SEED_NOTE not in verify(first, function(version, "return x in {'a', -1, -3}"))[0].reason


@pytest.mark.parametrize("version", VERSIONS)
def test_no_other_order_counts(version: str) -> None:
    for one, other in (("{1, 2}", "{2, 1}"), ("{8, 0, 16}", "{16, 8, 0}"), ("{'a', 'b'}", "{'b', 'a'}")):
        first, second = (function(version, f"return x in {text}") for text in (one, other))
        assert verify(first, second)[0].proven


def function(version: str, body: str) -> CodeUnit:
    """Not from a file: from 3.11 on that has sets in one order."""
    need(version)
    return recompile(f"def f(x):\n    {body}\n", number(version), ("f",)).unit
