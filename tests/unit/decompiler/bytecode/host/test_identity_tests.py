"""A function with the other answer to a comparison by ``is``."""

from __future__ import annotations

import types

from depyf.decompiler.bytecode.host.identity_tests import with_contrary_is


def chosen(a, b, c):
    if a is b:
        return "same"
    if a is not c and b is not c:
        return "both"
    return "one"


def test_one_comparison_on_a_line_is_turned_round():
    first = chosen.__code__.co_firstlineno
    code = with_contrary_is(chosen.__code__, first + 1)
    other = types.FunctionType(code, globals())
    assert [chosen(1, 1, 2), other(1, 1, 2)] == ["same", "both"] and other(1, 2, 3) == "same"
    assert with_contrary_is(chosen.__code__, first + 3) is None, "two on one line"
    assert with_contrary_is(chosen.__code__, first + 2) is None
