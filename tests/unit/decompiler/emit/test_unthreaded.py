"""Conditions on lines so long that the optimiser of 3.8 and 3.9 left their code alone stay on one line."""

from __future__ import annotations

import pytest

from depyf.decompiler.driver.pipeline import decompile_unit
from depyf.decompiler.verify import Status
from foreign import VERSIONS, compiled_text


def condition(levels: int) -> str:
    if not levels:
        return "a"
    part = condition(levels - 1)
    return f"({part} {'and' if levels % 2 else 'or'} {part})"


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("text", ["x = {}", "x = g(1, {})"])
def test_a_long_condition_is_shown_without_temporaries(version: str, text: str) -> None:
    """Over several lines its jumps would be others, so that the proof failed."""
    made = decompile_unit(compiled_text(version, f"def f():\n    {text.format(condition(6))}\n    return x\n"))
    assert {verdict.status for verdict in made.verdicts} == {Status.IDENTICAL}
    assert not made.fallbacks and "__temp" not in made.source
    long = max(map(len, made.source.splitlines()))
    assert (long > 200) is (version in ("3.8", "3.9"))


@pytest.mark.parametrize("version", ["3.8", "3.9"])
def test_other_long_lines_are_broken(version: str) -> None:
    items = ", ".join(f"item{i}" for i in range(90))
    made = decompile_unit(compiled_text(version, f"def f():\n    x = g({items})\n    return x and y\n"))
    assert all(verdict.proven for verdict in made.verdicts)
    assert max(map(len, made.source.splitlines())) <= 88
