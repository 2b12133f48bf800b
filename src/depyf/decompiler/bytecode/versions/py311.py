"""CPython 3.11: exception tables, one array of locals and cells, NULL in call sequences, SEND loops."""

from __future__ import annotations

from depyf.decompiler.bytecode import ops
from depyf.decompiler.bytecode.ops import CallShape
from depyf.decompiler.bytecode.versions import base
from depyf.decompiler.bytecode.versions.base import branch, branch_or_pop, counted, fixed, local
from depyf.decompiler.bytecode.versions.data import op311
from depyf.decompiler.bytecode.versions.spec import Context, Rule, build_spec


def load_global(cx: Context, i: int, arg: int) -> None:
    if arg & 1:
        cx.out.append((ops.NULL, None, -1, i))
    cx.out.append((ops.LOAD_GLOBAL, cx.names[arg >> 1], -1, i))


def load_slot(cx: Context, i: int, slot: int) -> None:
    """LOAD_FAST; on the slot of a cell it pushes the cell itself, and is what 3.13 has instead of LOAD_CLOSURE."""
    name = cx.localsplus[slot]
    cx.out.append((ops.LOAD_CLOSURE if cx.is_cell[slot] else ops.LOAD_FAST, name, -1, i))


def make_cell(cx: Context, i: int, arg: int) -> None:
    if i >= cx.prologue:
        cx.out.append((ops.MAKE_CELL, cx.localsplus[arg], -1, i))


def return_generator(cx: Context, i: int, arg: int) -> None:
    """It leaves the first value sent, which is always None; a program (Dynamo) may keep that on the stack."""
    names = cx.raw.names
    if i + 1 < len(names) and names[i + 1] == "POP_TOP":
        cx.skip = i + 2
    else:
        cx.out.append((ops.LOAD_CONST, None, -1, i))


def kw_names(cx: Context, i: int, arg: int) -> None:
    """Merged into the CALL that follows, with at most a PRECALL between them."""
    names = base.keyword_names(cx, i, cx.consts[arg])
    raw = cx.raw
    call = i + 1
    if call < len(raw.names) and raw.names[call] == "PRECALL":
        precall(cx, call, raw.args[call])
        call += 1
    if call >= len(raw.names) or raw.names[call] != "CALL":
        raise cx.error(i, "no CALL follows")
    count = raw.args[call] - len(names)
    if count < 0:
        raise cx.error(i, "more keyword names than arguments")
    cx.out.append((ops.CALL, CallShape(2, count, names), -1, call))
    cx.skip = call + 1


def precall(cx: Context, i: int, arg: int) -> None:
    """It prepares the CALL after it, which counts the same arguments."""
    raw = cx.raw
    if raw.names[i + 1 : i + 2] == ["CALL"] and raw.args[i + 1] != arg:
        raise cx.error(i, "the CALL that follows has not as many arguments")


def call(cx: Context, i: int, arg: int) -> None:
    cx.out.append((ops.CALL, CallShape(2, arg, ()), -1, i))


def call_ex(cx: Context, i: int, arg: int) -> None:
    cx.out.append((ops.CALL_EX, (2, bool(arg & 1)), -1, i))


def send(cx: Context, i: int, arg: int) -> None:
    """Collapse the whole loop that drives a delegate::

    LOAD_CONST None; i: SEND end; YIELD_VALUE; RESUME; JUMP_BACKWARD i; end:   ->   DELEGATE; end:
    """
    raw = cx.raw
    if cx.take_const(i, looped=True) is not None:
        raise cx.error(i, "the delegate is not primed with None")
    k = i + 1
    count = len(raw.names)
    for expected in ("YIELD_VALUE", "RESUME"):
        if k >= count or raw.names[k] != expected:
            raise cx.error(i, f"no {expected} in its loop")
        k += 1
    if k >= count or not raw.names[k].startswith("JUMP_BACKWARD") or raw.targets[k] != i:
        raise cx.error(i, "its loop does not jump back")
    cx.out.append((ops.DELEGATE, None, -1, i))
    cx.skip = k + 1
    if raw.targets[i] != k + 1:
        cx.out.append((ops.JUMP, None, raw.targets[i], i))


def for_iter(cx: Context, i: int, arg: int) -> None:
    cx.out.append((ops.FOR_ITER, 1, cx.raw.targets[i], i))


IS = ("is", "is not")
CONTAINS = ("in", "not in")

RULES: dict[str, Rule | None] = {
    **base.RULES,
    "CACHE": base.invalid("it is no instruction"),
    "RESUME": None,
    "PRECALL": precall,
    "COPY_FREE_VARS": None,
    "ASYNC_GEN_WRAP": None,
    "MAKE_CELL": make_cell,
    "GET_AWAITABLE": counted(ops.GET_AWAITABLE),
    "RETURN_GENERATOR": return_generator,
    "PUSH_NULL": fixed(ops.NULL),
    "COPY": counted(ops.COPY),
    "SWAP": counted(ops.SWAP),
    "LOAD_FAST": load_slot,
    "STORE_FAST": local(ops.STORE_FAST),
    "DELETE_FAST": local(ops.DELETE_FAST),
    "LOAD_GLOBAL": load_global,
    "LOAD_ASSERTION_ERROR": fixed(ops.LOAD_COMMON, "AssertionError"),
    "BINARY_OP": base.chosen(ops.BINARY, op311.BINARY),
    "COMPARE_OP": base.chosen(ops.COMPARE, op311.CMP),
    "IS_OP": base.chosen(ops.IS, IS),
    "CONTAINS_OP": base.chosen(ops.CONTAINS, CONTAINS),
    "LIST_EXTEND": counted(ops.LIST_EXTEND),
    "SET_UPDATE": counted(ops.SET_UPDATE),
    "DICT_UPDATE": counted(ops.DICT_UPDATE),
    "DICT_MERGE": counted(ops.DICT_MERGE),
    "LIST_TO_TUPLE": fixed(ops.LIST_TO_TUPLE),
    "KW_NAMES": kw_names,
    "CALL": call,
    "CALL_FUNCTION_EX": call_ex,
    "SEND": send,
    "FOR_ITER": for_iter,
    "END_ASYNC_FOR": fixed(ops.END_ASYNC_FOR, 2),
    "PUSH_EXC_INFO": fixed(ops.PUSH_EXC_INFO),
    "POP_EXCEPT": fixed(ops.POP_EXCEPT, 1),
    "RERAISE": fixed(ops.RERAISE, 1),
    "CHECK_EXC_MATCH": fixed(ops.EXC_MATCH),
    "CHECK_EG_MATCH": fixed(ops.EG_MATCH),
    "PREP_RERAISE_STAR": fixed(ops.PREP_RERAISE_STAR),
    "BEFORE_WITH": fixed(ops.BEFORE_WITH, 1),
    "BEFORE_ASYNC_WITH": fixed(ops.BEFORE_ASYNC_WITH, 1),
    "WITH_EXCEPT_START": fixed(ops.WITH_EXCEPT_START, 4),
    "MATCH_CLASS": counted(ops.MATCH_CLASS),
    "MATCH_MAPPING": fixed(ops.MATCH_MAPPING),
    "MATCH_SEQUENCE": fixed(ops.MATCH_SEQUENCE),
    "MATCH_KEYS": fixed(ops.MATCH_KEYS),
    "GET_LEN": fixed(ops.GET_LEN),
    "JUMP_BACKWARD": base.jump,
    "JUMP_BACKWARD_NO_INTERRUPT": base.jump,
    "JUMP_IF_FALSE_OR_POP": branch_or_pop("false"),
    "JUMP_IF_TRUE_OR_POP": branch_or_pop("true"),
    "POP_JUMP_FORWARD_IF_FALSE": branch("false"),
    "POP_JUMP_FORWARD_IF_TRUE": branch("true"),
    "POP_JUMP_FORWARD_IF_NONE": branch("none"),
    "POP_JUMP_FORWARD_IF_NOT_NONE": branch("not none"),
    "POP_JUMP_BACKWARD_IF_FALSE": branch("false"),
    "POP_JUMP_BACKWARD_IF_TRUE": branch("true"),
    "POP_JUMP_BACKWARD_IF_NONE": branch("none"),
    "POP_JUMP_BACKWARD_IF_NOT_NONE": branch("not none"),
}

SPEC = build_spec(op311, RULES)
