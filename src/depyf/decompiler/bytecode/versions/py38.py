"""CPython 3.8: try/finally as subroutines, comparisons of every kind in COMPARE_OP, BUILD_*_UNPACK.

``subroutines`` has already expanded the finally bodies: the names below 256 that only it writes (RERAISE,
WITH_EXCEPT_START, LOAD_NONE) are pseudo instructions.
"""

from __future__ import annotations

from depyf.decompiler.bytecode import ops
from depyf.decompiler.bytecode.subroutines import expand
from depyf.decompiler.bytecode.versions import base, before_311
from depyf.decompiler.bytecode.versions.base import fixed
from depyf.decompiler.bytecode.versions.data import op38
from depyf.decompiler.bytecode.versions.spec import MARK, UNMARK, Context, Rule, build_spec


def compare(cx: Context, i: int, arg: int) -> None:
    symbol = op38.CMP[arg]
    if symbol in ("in", "not in"):
        cx.out.append((ops.CONTAINS, symbol, -1, i))
    elif symbol in ("is", "is not"):
        cx.out.append((ops.IS, symbol, -1, i))
    elif symbol == "exception match":  # the copy of the type that EXC_MATCH keeps is dropped
        cx.out += ((ops.EXC_MATCH, None, -1, i), (ops.SWAP, 2, -1, i), (ops.POP, None, -1, i))
    elif symbol == "BAD":
        raise cx.error(i, "no such comparison")
    else:
        cx.out.append((ops.COMPARE, symbol, -1, i))


def build_unpack(kind: str) -> Rule:
    def rule(cx: Context, i: int, arg: int) -> None:
        cx.out.append((ops.BUILD_UNPACK, (kind, arg), -1, i))

    return rule


RULES: dict[str, Rule | None] = {
    **before_311.RULES,
    "COMPARE_OP": compare,
    "BUILD_TUPLE_UNPACK": build_unpack("tuple"),
    "BUILD_LIST_UNPACK": build_unpack("list"),
    "BUILD_SET_UNPACK": build_unpack("set"),
    "BUILD_MAP_UNPACK": build_unpack("map"),
    "BUILD_TUPLE_UNPACK_WITH_CALL": build_unpack("call_tuple"),
    "BUILD_MAP_UNPACK_WITH_CALL": build_unpack("call_map"),
    "LOAD_NONE": fixed(ops.LOAD_CONST, None),
    "MARK": base.counted(MARK),
    "UNMARK": base.counted(UNMARK),
    **{
        name: base.invalid("subroutine instruction outside a try block")
        for name in ("BEGIN_FINALLY", "CALL_FINALLY", "POP_FINALLY", "END_FINALLY")
    },
}

SPEC = build_spec(op38, RULES, pseudo=("RERAISE", "WITH_EXCEPT_START", "LOAD_NONE", "MARK", "UNMARK"), prepare=expand)
