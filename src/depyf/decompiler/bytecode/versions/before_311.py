"""Rules shared by CPython 3.8-3.10: one slot per callable, ROT_*, and handlers announced by SETUP_* instructions.

SETUP and POP_BLOCK are pseudo operations: ``blockstack`` turns them into handlers and the result does not hold them.
"""

from __future__ import annotations

from typing import Any

from depyf.decompiler.bytecode import ops
from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.bytecode.ops import CallShape
from depyf.decompiler.bytecode.versions import base
from depyf.decompiler.bytecode.versions.base import branch, branch_or_pop, fixed
from depyf.decompiler.bytecode.versions.spec import POP_BLOCK, SETUP, Context, Rule


def fast(op: str) -> Rule:
    def rule(cx: Context, i: int, arg: int) -> None:
        cx.out.append((op, cx.varnames[arg], -1, i))

    return rule


def several(*parts: tuple[str, Any]) -> Rule:
    """A fixed sequence of operations."""

    def rule(cx: Context, i: int, arg: int) -> None:
        for op, value in parts:
            cx.out.append((op, value, -1, i))

    return rule


def make_function(cx: Context, i: int, arg: int) -> None:
    name = cx.take_const(i)
    made = cx.out[-1][1] if cx.out[-1:] and cx.out[-1][0] == ops.LOAD_CONST else None
    if isinstance(made, CodeUnit):
        given = (made.given or made).qualname
        if name not in (given, given.rpartition(".")[2]):
            raise cx.error(i, f"{given} is made with the name {name!r}")
    base.make_function(cx, i, arg)


def call(cx: Context, i: int, arg: int) -> None:
    cx.out.append((ops.CALL, CallShape(1, arg, ()), -1, i))


def call_method(cx: Context, i: int, arg: int) -> None:
    cx.out.append((ops.CALL, CallShape(2, arg, ()), -1, i))


def call_kw(cx: Context, i: int, arg: int) -> None:
    names = base.keyword_names(cx, i, cx.take_const(i))
    if len(names) > arg:
        raise cx.error(i, "more keyword names than arguments")
    cx.out.append((ops.CALL, CallShape(1, arg - len(names), names), -1, i))


def call_ex(cx: Context, i: int, arg: int) -> None:
    cx.out.append((ops.CALL_EX, (1, bool(arg & 1)), -1, i))


def end_async_for(cx: Context, i: int, arg: int) -> None:
    """The interpreter jumps by its operand, which no compiler gives it."""
    if arg:
        raise cx.error(i, "it jumps")
    cx.out.append((ops.END_ASYNC_FOR, 7, -1, i))


_LONG_SWAP = (
    "BUILD_LIST", "DUP_TOP", "LOAD_CONST", "BINARY_SUBSCR", "ROT_THREE", "DUP_TOP", "ROT_THREE", "LOAD_CONST",
    "STORE_SUBSCR", "DUP_TOP", "LOAD_METHOD", "CALL_METHOD", "POP_TOP", "UNPACK_SEQUENCE",
)  # fmt: skip


def build_list(cx: Context, i: int, arg: int) -> None:
    """A list; or the swap of two distant slots, for which a program has to make one and turn it around
    (``create_swap`` in ``torch/_dynamo/bytecode_transformation.py``)."""
    raw = cx.raw
    if raw.names[i + 1 : i + 2] == ["DUP_TOP"] and tuple(raw.names[i : i + len(_LONG_SWAP)]) == _LONG_SWAP:
        indices = [cx.consts[raw.args[i + place]] for place in (2, 7)]
        method, given, taken = cx.names[raw.args[i + 10]], raw.args[i + 11], raw.args[i + 13]
        last = all(type(index) is int and index == -1 for index in indices)
        entered = raw.jumped_to.intersection(range(i + 1, i + len(_LONG_SWAP)))
        if last and arg and (method, given, taken) == ("reverse", 0, arg) and not entered:
            cx.out.append((ops.SWAP, arg + 1, -1, i))
            cx.skip = i + len(_LONG_SWAP)
            return
    cx.out.append((ops.BUILD_LIST, arg, -1, i))


def yield_from(cx: Context, i: int, arg: int) -> None:
    if cx.take_const(i) is not None:
        raise cx.error(i, "the delegate is not primed with None")
    cx.out.append((ops.DELEGATE, None, -1, i))


def for_iter(cx: Context, i: int, arg: int) -> None:
    cx.out.append((ops.FOR_ITER, 1, cx.raw.targets[i], i))


def setup(below: int) -> Rule:
    """A block begins; ``below`` slots on the stack are not part of it."""

    def rule(cx: Context, i: int, arg: int) -> None:
        cx.out.append((SETUP, below, cx.raw.targets[i], i))

    return rule


def setup_with(cx: Context, i: int, arg: int) -> None:
    cx.out += ((ops.BEFORE_WITH, 1, -1, i), (SETUP, 1, cx.raw.targets[i], i))


def jump_if_not_exc_match(cx: Context, i: int, arg: int) -> None:
    """[copy of the type, class] -> []: our EXC_MATCH keeps the copy, so it is dropped here."""
    cx.out += (
        (ops.EXC_MATCH, None, -1, i),
        (ops.SWAP, 2, -1, i),
        (ops.POP, None, -1, i),
        (ops.BRANCH, "false", cx.raw.targets[i], i),
    )


OPERATORS = {
    "ADD": "+", "SUBTRACT": "-", "MULTIPLY": "*", "MATRIX_MULTIPLY": "@", "TRUE_DIVIDE": "/", "FLOOR_DIVIDE": "//",
    "MODULO": "%", "POWER": "**", "LSHIFT": "<<", "RSHIFT": ">>", "AND": "&", "OR": "|", "XOR": "^",
}  # fmt: skip

RULES: dict[str, Rule | None] = {
    **base.RULES,
    **{f"BINARY_{name}": fixed(ops.BINARY, symbol) for name, symbol in OPERATORS.items()},
    **{f"INPLACE_{name}": fixed(ops.BINARY, symbol + "=") for name, symbol in OPERATORS.items()},
    "LOAD_FAST": fast(ops.LOAD_FAST),
    "STORE_FAST": fast(ops.STORE_FAST),
    "DELETE_FAST": fast(ops.DELETE_FAST),
    "ROT_TWO": fixed(ops.SWAP, 2),
    "ROT_THREE": fixed(ops.ROT, 3),
    "ROT_FOUR": fixed(ops.ROT, 4),
    "DUP_TOP": fixed(ops.COPY, 1),
    "DUP_TOP_TWO": several((ops.COPY, 2), (ops.COPY, 2)),
    "BUILD_LIST": build_list,
    "MAKE_FUNCTION": make_function,
    "CALL_FUNCTION": call,
    "CALL_FUNCTION_KW": call_kw,
    "CALL_FUNCTION_EX": call_ex,
    "CALL_METHOD": call_method,
    "YIELD_FROM": yield_from,
    "FOR_ITER": for_iter,
    "END_ASYNC_FOR": end_async_for,
    "POP_EXCEPT": fixed(ops.POP_EXCEPT, 3),
    "RERAISE": fixed(ops.RERAISE, 3),
    "WITH_EXCEPT_START": fixed(ops.WITH_EXCEPT_START, 7),
    "BEFORE_ASYNC_WITH": fixed(ops.BEFORE_ASYNC_WITH, 1),
    "SETUP_FINALLY": setup(0),
    "SETUP_ASYNC_WITH": setup(1),
    "SETUP_WITH": setup_with,
    "POP_BLOCK": fixed(POP_BLOCK),
    "JUMP_IF_FALSE_OR_POP": branch_or_pop("false"),
    "JUMP_IF_TRUE_OR_POP": branch_or_pop("true"),
    "POP_JUMP_IF_FALSE": branch("false"),
    "POP_JUMP_IF_TRUE": branch("true"),
}
