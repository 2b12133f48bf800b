"""Keyword names that are loaded long before their call: Dynamo stores values in between (Python 3.10 and before)."""

from __future__ import annotations

import pytest

from depyf.bytecode.codeunit import CodeUnit
from depyf.bytecode.lower import lower
from depyf.driver.pipeline import decompile_unit
from depyf.errors import BytecodeError

LOAD_FAST, STORE_FAST, LOAD_CONST, CALL_KW, RETURN, POP_TOP, ROT_TWO, JUMP_IF = 124, 125, 100, 141, 83, 1, 2, 114
ROT_THREE, DUP_TOP = 3, 4


def unit(*code, consts):
    return CodeUnit(
        (3, 10), "f", "f", "f.py", 1, 2, 0, 0, 2, 5, 0x43, bytes(code), consts, (), ("a", "b"), (), (),
        bytes([len(code), 0]), b"",
    )  # fmt: skip


def test_a_store_between():
    made = unit(
        LOAD_FAST, 0, LOAD_CONST, 0, LOAD_CONST, 1, LOAD_CONST, 2, STORE_FAST, 1, CALL_KW, 1, RETURN, 0,
        consts=("x", ("end",), 7),
    )  # fmt: skip
    found = decompile_unit(made)
    assert "a(end='x')" in found.source.replace('"', "'")
    assert [i.arg.keywords for i in lower(made).instrs if i.op == "CALL"] == [("end",)]


@pytest.mark.parametrize(
    "between",
    [
        (ROT_TWO, 0, ROT_TWO, 0),
        (LOAD_FAST, 1, ROT_TWO, 0, ROT_TWO, 0, POP_TOP, 0),
        (DUP_TOP, 0, POP_TOP, 0),
        (LOAD_FAST, 1, ROT_THREE, 0, ROT_THREE, 0, ROT_THREE, 0, POP_TOP, 0),
    ],
    ids=["twice", "around", "copied", "three"],
)
def test_moved_about(between):
    made = unit(LOAD_FAST, 0, LOAD_FAST, 1, LOAD_CONST, 0, *between, CALL_KW, 1, RETURN, 0, consts=(("end",),))
    assert [i.arg.keywords for i in lower(made).instrs if i.op == "CALL"] == [("end",)]


@pytest.mark.parametrize(
    "between",
    [
        (ROT_TWO, 0),  # another value is on top
        (POP_TOP, 0, LOAD_FAST, 1),  # the constant is gone
        (LOAD_FAST, 1, JUMP_IF, 6),  # a jump
    ],
    ids=["another", "gone", "jump"],
)
def test_what_is_not_known_to_be_the_constant(between):
    with pytest.raises(BytecodeError, match="does not follow"):
        lower(unit(LOAD_FAST, 0, LOAD_FAST, 1, LOAD_CONST, 0, *between, CALL_KW, 1, RETURN, 0, consts=(("end",),)))
