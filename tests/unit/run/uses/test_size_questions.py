"""Which lines ask about the size of what another line computes."""

from __future__ import annotations

import pytest

from depyf.run.uses.size_questions import in_while, loop_is_call, size_questions
from depyf.run.uses.use_kinds import ValueUse

HEAD = ["def f(x, mask):", "    rows, slot = torch.where(mask)"]


@pytest.mark.parametrize(
    "asked, use",
    [
        ("    if rows.numel() == 0: return x", ValueUse.BRANCH),
        ("    if len(slot) > 1: return x", ValueUse.BRANCH),
        ("    while rows.shape[0]: x = x + 1", ValueUse.LOOP),
        ("    for i in range(rows.size(0)): x = x + i", ValueUse.LOOP),
        ("    assert rows.size(0)", ValueUse.CHECK),
        ("    n = rows.shape[0]\n    y = x if n else 0", ValueUse.BRANCH),
    ],
)
def test_questions(asked, use):
    found = size_questions([*HEAD, *asked.split("\n"), "    return x[rows]"], 2)
    assert [one.use for one in found] == [use] and found[0].line == 3 + asked.count("\n")


@pytest.mark.parametrize(
    "line",
    ["    x = x / rows.numel()", "    if x.numel() == 0: return x", "    if rows is None: return x", "  no python ("],
)
def test_no_questions(line):
    assert size_questions([*HEAD, line, "    return x[rows]"], 2) == ()


def test_the_body_of_a_while_loop_of_the_same_function():
    lines = [
        "def f(x):",
        "    while x.numel():",
        "        def g(y):",
        "            return y[0]",
        "        x = x[1:]",
        "    return x",
    ]
    assert [in_while(lines, number) for number in range(1, 7)] == [False, False, False, False, True, False]
    assert not in_while(["while :", "    x"], 2)


@pytest.mark.parametrize(
    ("body", "alone"),
    [
        ("x = block(x)", True),
        ("self.blocks[i](x)", True),
        ("x = block(x).relu()", False),
        ("found.append(block(x))", False),
        ("x = x + 1", False),
        ("x = block(x); x = x + 1", False),
    ],
)
def test_a_loop_that_only_calls_a_function(body: str, alone: bool) -> None:
    lines = (
        f"def f(self, x):\n    x = x.sin()\n    for i, block in enumerate(self.blocks):\n        {body}\n".splitlines()
    )
    assert [loop_is_call(lines, number) for number in (2, 4)] == [None, alone]
    assert loop_is_call(["for :", "    x"], 2) is None
