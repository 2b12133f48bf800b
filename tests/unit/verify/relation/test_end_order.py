"""Where objects end in another order than in the original, the verdict names it; where they do not, it says nothing."""

from __future__ import annotations

import pytest

from depyf.bytecode.codeunit import CodeUnit
from depyf.verify import Verdict, verify
from depyf.verify.assumptions import END_ORDER_NOTE, FORGOTTEN_NOTE


def verdict(original: str, text: str) -> Verdict:
    units = []
    for body in (original, text):
        lines = "".join(f"    {line}\n" for line in body.splitlines())
        code = compile(f"def f(a, b):\n{lines}", "<ends>", "exec", dont_inherit=True).co_consts[0]
        units.append(CodeUnit.from_code(code))
    found = verify(*units)[0]
    assert found.proven, found
    return found


@pytest.mark.parametrize(
    ("original", "text"),
    [
        ("a.x()", "__temp_0 = a.x()"),  # the result ends before the variables of the frame, and after them
        ("return a.x() + a.y()", "__temp_0 = a.x()\n__temp_1 = a.y()\nreturn __temp_0 + __temp_1"),
        ("b(a.y, a.z)\na.n", "__temp_0 = a.y\n__temp_1 = a.z\nb(__temp_0, __temp_1)\ndel __temp_1, __temp_0\na.n"),
        ("a = a.x\nb = a.y\na = None\nb = None\nlen", "a = a.x\nb = a.y\nb = None\na = None\nlen"),
    ],
)
def test_another_order_is_named(original: str, text: str) -> None:
    assert END_ORDER_NOTE in verdict(original, text).reason


@pytest.mark.parametrize(
    ("original", "text"),
    [
        ("return not a", "return False if a else True"),
        ("a.x = b.y", "__temp_0 = b.y\na.x = __temp_0\ndel __temp_0\nreturn None"),
        ("if a:\n    return 1\nreturn 2", "if not a:\n    return 2\nreturn 1"),
        ("x = a.x\ny = b.y\nreturn x, y", "x = a.x\ny = b.y\n__temp_0 = 3\nreturn x, y"),
    ],
)
def test_the_same_order_needs_no_assumption(original: str, text: str) -> None:
    assert END_ORDER_NOTE not in verdict(original, text).reason


def test_a_temporary_of_one_way_is_named() -> None:
    original = "if a:\n    a.x = 1\nelse:\n    a.x = 2\nb.y()"
    text = "if a:\n    a.x = 1\nelse:\n    __temp_0 = a\n    __temp_0.x = 2\nb.y()"
    assert FORGOTTEN_NOTE in verdict(original, text).reason
