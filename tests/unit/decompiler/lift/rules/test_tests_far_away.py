"""Short circuits that 3.8 and 3.9 do not thread, because the end of the expression is beyond what one instruction can say.

A jump to another jump goes straight to where that leads only if its argument, below 256, stays below 256.  The value of the inner
``and`` is then tested once more than in the text without its parentheses.
"""

from __future__ import annotations

import pytest

from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.bytecode.files.unmarshal import loads
from depyf.decompiler.driver.pipeline import decompile_unit
from depyf.decompiler.verify.recompiling.worker import worker_for
from depyf.decompiler.verify.verdict import Status
from needs import need


@pytest.mark.parametrize("version", [(3, 8), (3, 9)])
@pytest.mark.parametrize(
    ("before", "expression"),
    [
        (62, "(i and j) and k or q"),
        (60, "(i and j) and (k or m or n.x) and (o or p) or q"),
        (59, "[y for y in (i and j) and (k or m) or q]"),
    ],
)
def test_a_value_that_is_tested_again_keeps_its_parentheses(
    version: tuple[int, int], before: int, expression: str
) -> None:
    need(version)
    text = "def f(a):\n" + "    a\n" * before + f"    return {expression}\n"
    unit = loads(worker_for(version).compile(text), version)
    assert isinstance(unit, CodeUnit)
    result = decompile_unit(unit)
    assert result.source == text
    assert {verdict.status for verdict in result.verdicts} == {Status.IDENTICAL}
