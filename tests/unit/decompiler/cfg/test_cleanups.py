"""Handlers that a compiler writes to clean up are found however much they have to give back."""

from __future__ import annotations

import pytest

from depyf.decompiler.driver.pipeline import decompile_unit
from foreign import VERSIONS, compiled_text


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("count", [36, 37, 90])
def test_a_comprehension_of_many_clauses(version: str, count: int) -> None:
    """Inlined (3.12+), it gives back as many variables where it raises."""
    clauses = " ".join(f"for a{i} in b" for i in range(count))
    found = decompile_unit(compiled_text(version, f"def f(b):\n    return [x {clauses}]\n"))
    assert all(verdict.proven for verdict in found.verdicts)
    assert found.source.count("for ") == count
    assert "_temp" not in found.source
