"""The last resort lets go of what an operation takes before the statement is done: starred calls, awaits, exits of ``with``."""

from __future__ import annotations

import pytest

import depyf.decompiler.driver.pipeline
from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.driver.pipeline import decompile_unit
from depyf.decompiler.driver.rungs import LADDER, Rung

PLAIN = tuple(attempt for attempt in LADDER if attempt.rung is Rung.TOTAL)

PROVEN = {
    "mapping": "def f(g, a, b):\n    return g(1, *a, **{}, **(a or b))\n",
    "awaited": "async def f(a, b):\n    return await (a or b)\n",
    "delegated": "def f(a, b):\n    return (yield from a or b)\n",
    "break_of_with": "async def f(a):\n    async for x in a:\n        async with x:\n            break\n    else:\n        raise ValueError\n",
    "manager_alone": "def f(a, b, c):\n    with a, b:\n        return\n    while c:\n        a()\n",
}


@pytest.mark.parametrize("name", PROVEN)
def test_plain_text_is_proven(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(depyf.decompiler.driver.pipeline, "ladder", lambda generated, promises: PLAIN)
    found = decompile_unit(CodeUnit.from_code(compile(PROVEN[name], "given.py", "exec", dont_inherit=True)))
    assert [verdict for verdict in found.verdicts if not verdict.proven] == []


def test_a_temporary_is_emptied_where_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(depyf.decompiler.driver.pipeline, "ladder", lambda generated, promises: PLAIN)
    found = decompile_unit(CodeUnit.from_code(compile(PROVEN["awaited"], "given.py", "exec", dont_inherit=True)))
    assert "await (__temp_0, __temp_0 := None)[0]" in found.source
