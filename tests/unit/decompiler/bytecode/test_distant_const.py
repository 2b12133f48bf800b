"""Keyword names that are loaded long before their call: Dynamo stores values in between, or whole loops."""

from __future__ import annotations

import pytest

from depyf.decompiler.bytecode.buried import Buried
from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.bytecode.decode import decode
from depyf.decompiler.bytecode.lower import lower
from depyf.decompiler.bytecode.versions import spec_for
from depyf.decompiler.driver.pipeline import decompile_unit
from depyf.errors import BytecodeError
from needs import need

LOAD_FAST, STORE_FAST, LOAD_CONST, CALL_KW, RETURN, POP_TOP, ROT_TWO, JUMP_IF = 124, 125, 100, 141, 83, 1, 2, 114
ROT_THREE, DUP_TOP, GET_ITER, FOR_ITER, JUMP_BACK, JUMP = 3, 4, 68, 93, 113, 110


def unit(*code, consts):
    return CodeUnit(
        (3, 10), "f", "f", "f.py", 1, 2, 0, 0, 2, 5, 0x43, bytes(code), consts, (), ("a", "b"), (), (),
        bytes([254, 0] * (len(code) // 254) + [len(code) % 254, 0]), b"",
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
        (LOAD_FAST, 1, JUMP_IF, 7, POP_TOP, 0, LOAD_FAST, 1),  # gone on one of two ways
        (LOAD_FAST, 1, JUMP_IF, 7, POP_TOP, 0, LOAD_CONST, 1),  # another constant on one of them
    ],
    ids=["another", "gone", "gone on one way", "another on one way"],
)
def test_what_is_not_known_to_be_the_constant(between):
    with pytest.raises(BytecodeError, match="does not follow"):
        lower(
            unit(
                LOAD_FAST, 0, LOAD_FAST, 1, LOAD_CONST, 0, *between, CALL_KW, 1, RETURN, 0, consts=(("end",), ("beg",))
            )
        )


WAYS = {
    "one way": (LOAD_FAST, 1, JUMP_IF, 7, LOAD_FAST, 1, POP_TOP, 0),
    "two ways": (LOAD_FAST, 1, JUMP_IF, 8, LOAD_FAST, 1, POP_TOP, 0, JUMP, 2, LOAD_FAST, 0, POP_TOP, 0),
    "the same on both": (LOAD_FAST, 1, JUMP_IF, 7, POP_TOP, 0, LOAD_CONST, 0),
    "a loop": (LOAD_FAST, 1, GET_ITER, 0, FOR_ITER, 2, STORE_FAST, 1, JUMP_BACK, 5),
    "a loop of two": (
        *(LOAD_FAST, 1, GET_ITER, 0, FOR_ITER, 5, GET_ITER, 0, FOR_ITER, 2),
        *(STORE_FAST, 1, JUMP_BACK, 7, JUMP_BACK, 5, LOAD_FAST, 0, POP_TOP, 0),
    ),
}  # fmt: skip


@pytest.mark.parametrize("between", WAYS.values(), ids=WAYS.keys())
def test_ways_that_leave_it(between):
    need((3, 10))
    made = unit(LOAD_FAST, 0, LOAD_FAST, 1, LOAD_CONST, 0, *between, CALL_KW, 1, RETURN, 0, consts=(("end",),))
    assert [i.arg.keywords for i in lower(made).instrs if i.op == "CALL"] == [("end",)]
    found = decompile_unit(made)
    assert found.proven and "end=" in found.source


def test_a_loop_around_the_call():
    """At its head the stack may hold what the last turn left."""
    code = (
        LOAD_FAST,
        0,
        LOAD_FAST,
        1,
        LOAD_CONST,
        0,
        LOAD_FAST,
        1,
        JUMP_IF,
        5,
        CALL_KW,
        1,
        LOAD_FAST,
        1,
        LOAD_CONST,
        1,
    )
    with pytest.raises(BytecodeError, match="does not follow"):
        lower(unit(*code, JUMP_BACK, 3, RETURN, 0, consts=(("end",), ("beg",))))


def test_looking_is_bounded():
    """What all calls of one code object may cost grows with its size alone: those that are far from their names are few."""
    between = (LOAD_FAST, 1, POP_TOP, 0)
    near = (LOAD_FAST, 0, LOAD_FAST, 1, LOAD_CONST, 0, *between, CALL_KW, 1, POP_TOP, 0)
    lost = (LOAD_FAST, 0, LOAD_FAST, 1, LOAD_CONST, 0, *between * 900, CALL_KW, 1, POP_TOP, 0)
    code = (*near * 1000, *lost, *near * 1000, LOAD_FAST, 0, RETURN, 0)
    assert sum(i.op == "CALL" for i in lower(unit(*code, consts=(("end",),))).instrs) == 2001
    buried = Buried(decode(unit(*code, consts=(("end",),)), spec_for((3, 10))), ())
    out = [("LOAD_FAST", "a", -1, at) for at in range(len(code) // 2)]
    buried.steps = 3000
    assert [(buried.on_top(out, len(out)), buried.steps) for _ in range(2)] == [(-1, 770), (-1, -1)]
