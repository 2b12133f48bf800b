"""CPython 3.13: superinstructions, CALL_KW, function attributes one by one, the callable below NULL, TO_BOOL."""

from __future__ import annotations

from depyf.decompiler.bytecode import ops
from depyf.decompiler.bytecode.ops import CallShape
from depyf.decompiler.bytecode.versions import base, py312, truth
from depyf.decompiler.bytecode.versions.base import fixed
from depyf.decompiler.bytecode.versions.data import op313
from depyf.decompiler.bytecode.versions.py311 import load_slot
from depyf.decompiler.bytecode.versions.spec import Context, Rule, build_spec

CONVERSIONS = ("", "s", "r", "a")
ATTRIBUTES = {1: "defaults", 2: "kwdefaults", 4: "annotations", 8: "closure", 16: "annotate"}


def load_global(cx: Context, i: int, arg: int) -> None:
    cx.out.append((ops.LOAD_GLOBAL, cx.names[arg >> 1], -1, i))
    if arg & 1:
        cx.out.append((ops.NULL, None, -1, i))


def load_fast_load_fast(cx: Context, i: int, arg: int) -> None:
    load_slot(cx, i, arg >> 4)
    load_slot(cx, i, arg & 15)


def store_fast_load_fast(cx: Context, i: int, arg: int) -> None:
    cx.out.append((ops.STORE_FAST, cx.localsplus[arg >> 4], -1, i))
    load_slot(cx, i, arg & 15)


def store_fast_store_fast(cx: Context, i: int, arg: int) -> None:
    localsplus = cx.localsplus
    cx.out += ((ops.STORE_FAST, localsplus[arg >> 4], -1, i), (ops.STORE_FAST, localsplus[arg & 15], -1, i))


def yield_value(cx: Context, i: int, arg: int) -> None:
    """The operand says that a delegate is driven: those loops are read as a whole (``send``)."""
    if arg:
        raise cx.error(i, "it belongs to a send loop")
    cx.out.append((ops.YIELD, None, -1, i))


def call_kw(cx: Context, i: int, arg: int) -> None:
    names = base.keyword_names(cx, i, cx.take_const(i))
    if len(names) > arg:
        raise cx.error(i, "more keyword names than arguments")
    cx.out.append((ops.CALL, CallShape(2, arg - len(names), names), -1, i))


def for_iter(cx: Context, i: int, arg: int) -> None:
    """The exhausted exit steps over END_FOR, then POP_TOP (3.14: POP_ITER) removes the iterator."""
    cx.out.append((ops.FOR_ITER, 1, base.loop_end(cx, i, (("END_FOR",), ("POP_TOP", "POP_ITER"))), i))


def set_function_attribute(cx: Context, i: int, arg: int) -> None:
    if arg not in ATTRIBUTES:
        raise cx.error(i, f"unknown flag {arg}")
    cx.out.append((ops.SET_FUNCTION_ATTRIBUTE, ATTRIBUTES[arg], -1, i))


RULES: dict[str, Rule | None] = {
    **py312.RULES,
    "TO_BOOL": truth.to_bool,
    "POP_JUMP_IF_TRUE": truth.branch(True),
    "POP_JUMP_IF_FALSE": truth.branch(False),
    "UNARY_NOT": truth.unary_not,
    "ENTER_EXECUTOR": base.invalid("it belongs to the JIT"),
    "EXIT_INIT_CHECK": base.invalid("it belongs to the interpreter's own frame"),
    "LOAD_GLOBAL": load_global,
    "LOAD_FAST_LOAD_FAST": load_fast_load_fast,
    "STORE_FAST_LOAD_FAST": store_fast_load_fast,
    "STORE_FAST_STORE_FAST": store_fast_store_fast,
    "COMPARE_OP": truth.compare(op313.CMP),
    "CALL_KW": call_kw,
    "YIELD_VALUE": yield_value,
    "FOR_ITER": for_iter,
    "MAKE_FUNCTION": fixed(ops.MAKE_FUNCTION, ()),
    "SET_FUNCTION_ATTRIBUTE": set_function_attribute,
    "CONVERT_VALUE": base.chosen(ops.CONVERT, CONVERSIONS),
    "FORMAT_SIMPLE": fixed(ops.FORMAT, ("", False)),
    "FORMAT_WITH_SPEC": fixed(ops.FORMAT, ("", True)),
    "CALL_INTRINSIC_1": py312.intrinsic_1(op313.INTRINSIC_1),
    "CALL_INTRINSIC_2": py312.intrinsic_2(op313.INTRINSIC_2),
}

SPEC = build_spec(op313, RULES)
