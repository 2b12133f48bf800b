"""CPython 3.12: inlined comprehensions, intrinsics, END_FOR / END_SEND, super() without a call, RETURN_CONST."""

from __future__ import annotations

from depyf.decompiler.bytecode import ops
from depyf.decompiler.bytecode.codeunit import CO_OPTIMIZED
from depyf.decompiler.bytecode.versions import base, py311
from depyf.decompiler.bytecode.versions.base import branch, fixed, local, named
from depyf.decompiler.bytecode.versions.data import op312
from depyf.decompiler.bytecode.versions.spec import INVALID, Context, Rule, build_spec


def load_attr(cx: Context, i: int, arg: int) -> None:
    cx.out.append((ops.LOAD_METHOD if arg & 1 else ops.LOAD_ATTR, cx.names[arg >> 1], -1, i))


def load_super_attr(cx: Context, i: int, arg: int) -> None:
    op = ops.LOAD_SUPER_METHOD if arg & 1 else ops.LOAD_SUPER_ATTR
    cx.out.append((op, (cx.names[arg >> 2], bool(arg & 2)), -1, i))


def compare(cx: Context, i: int, arg: int) -> None:
    """COMPARE_OP; the low bits say it once more, for numbers that are compared without a call."""
    base.check_mask(cx, i, arg >> 4, arg)
    cx.out.append((ops.COMPARE, op312.CMP[arg >> 4], -1, i))


def return_const(cx: Context, i: int, arg: int) -> None:
    cx.out += ((ops.LOAD_CONST, cx.consts[arg], -1, i), (ops.RETURN, None, -1, i))


def binary_slice(cx: Context, i: int, arg: int) -> None:
    cx.out += ((ops.BUILD_SLICE, 2, -1, i), (ops.SUBSCR, None, -1, i))


def store_slice(cx: Context, i: int, arg: int) -> None:
    cx.out += ((ops.BUILD_SLICE, 2, -1, i), (ops.STORE_SUBSCR, None, -1, i))


def for_iter(cx: Context, i: int, arg: int) -> None:
    cx.out.append((ops.FOR_ITER, 1, base.loop_end(cx, i, (("END_FOR",),)), i))


def end_send(cx: Context, i: int, arg: int) -> None:
    """It takes the delegate from below the result, which DELEGATE does already."""
    if i not in cx.raw.send_ends:
        cx.out.append((INVALID, "it is not the end of a send loop", -1, i))


def intrinsic_1(names: tuple[str, ...]) -> Rule:
    """CALL_INTRINSIC_1: those with a separate operation, then the rest by name."""
    own: dict[str, tuple[str, object]] = {
        "UNARY_POSITIVE": (ops.UNARY, "+"),
        "LIST_TO_TUPLE": (ops.LIST_TO_TUPLE, None),
        "IMPORT_STAR": (ops.IMPORT_STAR, None),
    }

    def rule(cx: Context, i: int, arg: int) -> None:
        name = names[arg]
        if name == "ASYNC_GEN_WRAP":
            return
        op, value = own.get(name, (ops.INTRINSIC, (name, 1)))
        cx.out.append((op, value, -1, i))
        if op == ops.IMPORT_STAR:  # as an intrinsic it pushes None, which POP_TOP removes
            following = cx.raw.names[i + 1 : i + 2]
            if following == ["POP_TOP"] and i + 1 not in cx.raw.jumped_to:
                cx.skip = i + 2
            else:
                cx.out.append((ops.LOAD_CONST, None, -1, i))

    return rule


def intrinsic_2(names: tuple[str, ...]) -> Rule:
    def rule(cx: Context, i: int, arg: int) -> None:
        name = names[arg]
        if name == "PREP_RERAISE_STAR":
            cx.out.append((ops.PREP_RERAISE_STAR, None, -1, i))
        else:
            cx.out.append((ops.INTRINSIC, (name, 2), -1, i))

    return rule


def load_locals(cx: Context, i: int, arg: int) -> None:
    """A function has no namespace to push: there the instruction raises SystemError, and no compiler writes it."""
    rule = base.invalid("a function has no namespace") if cx.unit.flags & CO_OPTIMIZED else fixed(ops.LOAD_LOCALS)
    rule(cx, i, arg)


RULES: dict[str, Rule | None] = {
    **py311.RULES,
    "LOAD_ATTR": load_attr,
    "LOAD_SUPER_ATTR": load_super_attr,
    "LOAD_FAST_CHECK": py311.RULES["LOAD_FAST"],
    "LOAD_FAST_AND_CLEAR": local(ops.LOAD_FAST_CLEAR),
    "LOAD_LOCALS": load_locals,
    "LOAD_FROM_DICT_OR_DEREF": local(ops.LOAD_FROM_DICT_OR_DEREF),
    "LOAD_FROM_DICT_OR_GLOBALS": named(ops.LOAD_FROM_DICT_OR_GLOBALS),
    "COMPARE_OP": compare,
    "RETURN_CONST": return_const,
    "BINARY_SLICE": binary_slice,
    "STORE_SLICE": store_slice,
    "FOR_ITER": for_iter,
    "END_SEND": end_send,
    "CALL_INTRINSIC_1": intrinsic_1(op312.INTRINSIC_1),
    "CALL_INTRINSIC_2": intrinsic_2(op312.INTRINSIC_2),
    "POP_JUMP_IF_FALSE": branch("false"),
    "POP_JUMP_IF_TRUE": branch("true"),
    "POP_JUMP_IF_NONE": branch("none"),
    "POP_JUMP_IF_NOT_NONE": branch("not none"),
    "INTERPRETER_EXIT": base.invalid("it ends the interpreter's own frame"),
    "RESERVED": base.invalid("it is reserved"),
    "END_FOR": base.invalid("it is not the end of a for loop"),
    "CLEANUP_THROW": base.invalid("it is not the handler of a send loop"),
}

SPEC = build_spec(op312, RULES)
