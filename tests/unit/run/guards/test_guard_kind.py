"""Paths are spelled as ``ast.unparse`` spells them, and everything else, too."""

from __future__ import annotations

import ast

import pytest

from depyf.run.guards.guard_kind import spelled

TEXTS = [
    "x", "L['self']._modules['a'].weight", "L['x'].size()[0]", "G['m'][-1].k", "L['x'][0, 1]", "1", "'it\\'s'", "(1).real",
    "True", "...", "f()", "f(*a)", "type_is(L['x'], 'm.C')", "check(L['x'], (1, 2), [None, 3])", "f(x for x in y)", "f(a, b=1)",
    "g.f(x)", "f((y := 1), lambda: 0)", "f(a if b else c)", "f((yield))", "b'x'", "1.5", "x[1:2].y", "(a, b)[0]", "f(g(x)[0])",
    "'\\n\\x00\\ud800'", "x['\\u00e9\"']", "1e400", "-1", "x[True]",
]  # fmt: skip


@pytest.mark.parametrize("text", TEXTS)
def test_it_is_the_same(text: str) -> None:
    tree = ast.parse(text, mode="eval").body
    assert spelled(tree) == ast.unparse(tree)
