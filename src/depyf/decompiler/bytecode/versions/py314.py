"""CPython 3.14: borrowed loads, small integers, common constants, with through LOAD_SPECIAL, template strings."""

from __future__ import annotations

from depyf.decompiler.bytecode import ops
from depyf.decompiler.bytecode.versions import py312, py313
from depyf.decompiler.bytecode.versions.base import fixed
from depyf.decompiler.bytecode.versions.data import op314
from depyf.decompiler.bytecode.versions.spec import Context, Rule, build_spec

LITERALS: dict[str, object] = {"None": None, "''": "", "True": True, "False": False, "-1": -1}


def load_small_int(cx: Context, i: int, arg: int) -> None:
    cx.out.append((ops.LOAD_CONST, arg, -1, i))


def load_common_constant(names: tuple[str, ...]) -> Rule:
    """Builtins by name; since 3.15 the table holds literals too."""

    def rule(cx: Context, i: int, arg: int) -> None:
        name = names[arg]
        if name in LITERALS:
            cx.out.append((ops.LOAD_CONST, LITERALS[name], -1, i))
        else:
            cx.out.append((ops.LOAD_COMMON, name, -1, i))

    return rule


def binary_op(cx: Context, i: int, arg: int) -> None:
    symbol = op314.BINARY[arg]
    if symbol == "[]":
        cx.out.append((ops.SUBSCR, None, -1, i))
    else:
        cx.out.append((ops.BINARY, symbol, -1, i))


def call_ex(cx: Context, i: int, arg: int) -> None:
    """The mapping slot is always there; a PUSH_NULL right before says that there is no mapping.  Where the NULL comes
    from further away (Dynamo pushes both and swaps), lifting and proof find it on the stack."""
    out = cx.out
    if out and out[-1][0] == ops.NULL and out[-1][3] == i - 1 and i not in cx.raw.jumped_to:
        out.pop()
        out.append((ops.CALL_EX, (2, False), -1, i))
    else:
        out.append((ops.CALL_EX, (2, True), -1, i))


def load_special(cx: Context, i: int, arg: int) -> None:
    """The sequence that enters a context manager::

    COPY 1; LOAD_SPECIAL __exit__; SWAP 2; SWAP 3; LOAD_SPECIAL __enter__; CALL 0   ->   BEFORE_WITH 2
    """
    raw = cx.raw
    name = op314.SPECIAL[arg]
    out = cx.out
    before = bool(out) and out[-1][:2] == (ops.COPY, 1) and out[-1][3] == i - 1
    jumped = any(k in raw.jumped_to for k in range(i, i + 5))
    enter = {"__exit__": 0, "__aexit__": 2}.get(name, -1)
    after = list(zip(raw.names[i + 1 : i + 5], raw.args[i + 1 : i + 5]))
    if not before or jumped or after != [("SWAP", 2), ("SWAP", 3), ("LOAD_SPECIAL", enter), ("CALL", 0)]:
        raise cx.error(i, "it is not part of entering a context manager")
    out.pop()
    out.append((ops.BEFORE_ASYNC_WITH if enter else ops.BEFORE_WITH, 2, -1, i + 4))
    cx.skip = i + 5


def build_interpolation(cx: Context, i: int, arg: int) -> None:
    cx.out.append((ops.BUILD_INTERPOLATION, (py313.CONVERSIONS[arg >> 2], bool(arg & 1)), -1, i))


RULES: dict[str, Rule | None] = {
    **py313.RULES,
    "NOT_TAKEN": None,
    "LOAD_FAST_BORROW": py313.RULES["LOAD_FAST"],
    "LOAD_FAST_BORROW_LOAD_FAST_BORROW": py313.load_fast_load_fast,
    "LOAD_SMALL_INT": load_small_int,
    "LOAD_COMMON_CONSTANT": load_common_constant(op314.COMMON),
    "BINARY_OP": binary_op,
    "CALL_FUNCTION_EX": call_ex,
    "LOAD_SPECIAL": load_special,
    "WITH_EXCEPT_START": fixed(ops.WITH_EXCEPT_START, 5),
    "POP_ITER": fixed(ops.POP),
    "BUILD_INTERPOLATION": build_interpolation,
    "BUILD_TEMPLATE": fixed(ops.BUILD_TEMPLATE),
    "CALL_INTRINSIC_1": py312.intrinsic_1(op314.INTRINSIC_1),
    "CALL_INTRINSIC_2": py312.intrinsic_2(op314.INTRINSIC_2),
}

SPEC = build_spec(op314, RULES)
