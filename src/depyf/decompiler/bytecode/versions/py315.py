"""CPython 3.15: two stack slots per loop and per delegate, lazy imports, literals among the common constants."""

from __future__ import annotations

from depyf.decompiler.bytecode import ops
from depyf.decompiler.bytecode.versions import base, py311, py312, py314
from depyf.decompiler.bytecode.versions.data import op315
from depyf.decompiler.bytecode.versions.spec import Context, Rule, build_spec


def get_iter(cx: Context, i: int, arg: int) -> None:
    """Since 3.15 also GET_YIELD_FROM_ITER (arg 2 in a plain generator, 3 with the check for coroutines).

    Its second slot only serves the send loop: DELEGATE wants one slot, so it is never pushed.
    """
    if arg & 2:
        cx.out.append((ops.GET_YIELD_FROM_ITER, None, -1, i))
    else:
        cx.out.append((ops.GET_ITER, 2, -1, i))


def send(cx: Context, i: int, arg: int) -> None:
    """As before, but the receiver has a second slot: GET_ITER's, or a NULL pushed after GET_AWAITABLE and GET_ANEXT."""
    py311.send(cx, i, arg)
    out = cx.out
    delegate = len(out) - 1
    while out[delegate][0] != ops.DELEGATE:
        delegate -= 1
    before = out[delegate - 1] if delegate else None
    if before is not None and before[0] == ops.NULL and before[3] == i - 2:
        del out[delegate - 1]
    elif before is None or before[0] != ops.GET_YIELD_FROM_ITER:
        raise cx.error(i, "its receiver has no second slot")


def for_iter(cx: Context, i: int, arg: int) -> None:
    """The exhausted exit steps over END_FOR, then POP_ITER removes both slots."""
    cx.out.append((ops.FOR_ITER, 2, base.loop_end(cx, i, (("END_FOR",), ("POP_ITER",))), i))


def pop_iter(cx: Context, i: int, arg: int) -> None:
    cx.out += ((ops.POP, None, -1, i), (ops.POP, None, -1, i))


def import_name(cx: Context, i: int, arg: int) -> None:
    """Bit 0 says `lazy`; bit 1 says that the place (a function, a try block) forbids laziness, which needs no mark."""
    cx.out.append((ops.IMPORT_NAME_LAZY if arg & 1 else ops.IMPORT_NAME, cx.names[arg >> 2], -1, i))


RULES: dict[str, Rule | None] = {
    **py314.RULES,
    "GET_ITER": get_iter,
    "SEND": send,
    "FOR_ITER": for_iter,
    "POP_ITER": pop_iter,
    "IMPORT_NAME": import_name,
    "LOAD_COMMON_CONSTANT": py314.load_common_constant(op315.COMMON),
    "TRACE_RECORD": py314.RULES["ENTER_EXECUTOR"],
    "CALL_INTRINSIC_1": py312.intrinsic_1(op315.INTRINSIC_1),
    "CALL_INTRINSIC_2": py312.intrinsic_2(op315.INTRINSIC_2),
}

SPEC = build_spec(op315, RULES)
