"""CPython 3.10: jumps count instructions, pattern matching, ROT_N, GEN_START."""

from __future__ import annotations

from typing import Any

from depyf.decompiler.bytecode import ops
from depyf.decompiler.bytecode.versions import py39
from depyf.decompiler.bytecode.versions.base import counted, fixed
from depyf.decompiler.bytecode.versions.data import op310
from depyf.decompiler.bytecode.versions.spec import Context, Rule, build_spec


def with_success(op: str, counts: bool) -> Rule:
    """A match that pushes its result and a bool; since 3.11 the result is None on failure and the bool is gone::

        MATCH_KEYS; POP_JUMP_IF_FALSE fail   ->   MATCH_KEYS; COPY 1; BRANCH none fail

    MATCH_CLASS leaves the subject on failure where we leave None; the compiler only ever pops that slot.
    """

    def rule(cx: Context, i: int, arg: int) -> None:
        value: Any = arg if counts else None
        cx.out += ((op, value, -1, i), (ops.COPY, 1, -1, i))
        raw = cx.raw
        if raw.names[i + 1] == "POP_JUMP_IF_FALSE" and i + 1 not in raw.jumped_to:
            cx.out.append((ops.BRANCH, "none", raw.targets[i + 1], i + 1))
            cx.skip = i + 2
        else:
            cx.out += ((ops.LOAD_CONST, None, -1, i), (ops.IS, "is not", -1, i))

    return rule


RULES: dict[str, Rule | None] = {
    **py39.RULES,
    "GEN_START": None,
    "ROT_N": counted(ops.ROT),
    "GET_LEN": fixed(ops.GET_LEN),
    "MATCH_MAPPING": fixed(ops.MATCH_MAPPING),
    "MATCH_SEQUENCE": fixed(ops.MATCH_SEQUENCE),
    "MATCH_KEYS": with_success(ops.MATCH_KEYS, counts=False),
    "MATCH_CLASS": with_success(ops.MATCH_CLASS, counts=True),
    "COPY_DICT_WITHOUT_KEYS": fixed(ops.COPY_DICT_WITHOUT_KEYS),
}

SPEC = build_spec(op310, RULES)
