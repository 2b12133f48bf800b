"""Truth tests of 3.13 and later: making a bool and comparing it are two instructions, and code may use either alone."""

from __future__ import annotations

import pytest

from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.bytecode.lower import lower
from depyf.decompiler.bytecode.versions.data import op313
from depyf.decompiler.driver.pipeline import decompile_unit

CODES = {name: number for number, name in op313.OPCODES.items()}
LESS, LESS_AS_BOOL = 2 << 0, 16 | 2 << 0


def unit(*code: tuple[str, int], table: bytes = b"") -> CodeUnit:
    data = bytearray((CODES["RESUME"], 0))
    for name, arg in code:
        data += bytes((CODES[name], arg)) + bytes(2 * op313.CACHES.get(name, 0))
    return CodeUnit(
        (3, 13), "f", "f", "f.py", 1, 2, 0, 0, 2, 5, 0x3, bytes(data), (None, 7), (), ("a", "b"), (), (),
        b"", table,
    )  # fmt: skip


def shape(made: CodeUnit) -> list[tuple[str, object]]:
    return [(i.op, i.arg) for i in lower(made).instrs]


A, B = ("LOAD_FAST", 0), ("LOAD_FAST", 1)
RETURN = ("RETURN_VALUE", 0)
NOT = ("UNARY", "not")


def test_a_bool_that_is_a_value():
    made = unit(A, ("TO_BOOL", 0), RETURN)
    assert shape(made) == [("LOAD_FAST", "a"), NOT, NOT, ("RETURN", None)]
    assert "return not not a" in decompile_unit(made).source


def test_a_bool_for_the_next_instruction():
    assert shape(unit(A, ("TO_BOOL", 0), ("UNARY_NOT", 0), RETURN))[1:-1] == [NOT]
    branch = unit(A, ("TO_BOOL", 0), ("POP_JUMP_IF_FALSE", 2), A, RETURN, B, RETURN)
    assert shape(branch)[1] == ("BRANCH", "false")


@pytest.mark.parametrize(("flag", "expected"), [(2, []), (18, [NOT, NOT])])
def test_comparison_made_a_bool(flag, expected):
    found = shape(unit(A, B, ("COMPARE_OP", flag), RETURN))
    assert found[2:-1] == [("COMPARE", "<"), *expected]
    tested = shape(unit(A, B, ("COMPARE_OP", 18), ("POP_JUMP_IF_TRUE", 2), A, RETURN, B, RETURN))
    assert tested[2:4] == [("COMPARE", "<"), ("BRANCH", "true")]


@pytest.mark.parametrize(
    ("raw", "constant", "test"),
    [("POP_JUMP_IF_FALSE", False, "if a is not False"), ("POP_JUMP_IF_TRUE", True, "if a is not True")],
)
def test_nothing_has_made_a_bool(raw, constant, test):
    """The interpreter compares with the constant by identity; any other object lets control fall through."""
    made = unit(A, (raw, 2), A, RETURN, B, RETURN)
    assert shape(made)[1:4] == [("LOAD_CONST", constant), ("IS", "is"), ("BRANCH", "true")]
    found = decompile_unit(made)
    assert test in found.source
    assert shape(unit(A, ("UNARY_NOT", 0), RETURN))[1:3] == [("LOAD_CONST", False), ("IS", "is")]


def test_a_comparison_of_objects_need_not_give_a_bool():
    made = unit(A, B, ("COMPARE_OP", 2), ("POP_JUMP_IF_FALSE", 2), A, RETURN, B, RETURN)
    assert shape(made)[2:6] == [("COMPARE", "<"), ("LOAD_CONST", False), ("IS", "is"), ("BRANCH", "true")]


def test_a_jump_between_the_two():
    """What jumps to the test brings an object of its own."""
    made = unit(A, ("TO_BOOL", 0), ("POP_JUMP_IF_FALSE", 2), A, RETURN, B, ("JUMP_BACKWARD", 7))
    found = shape(made)
    assert found[1:6] == [NOT, NOT, ("LOAD_CONST", False), ("IS", "is"), ("BRANCH", "true")]
