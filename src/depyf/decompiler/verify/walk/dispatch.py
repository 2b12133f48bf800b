"""How the walk treats each operation: a small integer per operation, frequent silent ones first."""

from __future__ import annotations

from depyf.decompiler.bytecode import ops

LOAD_FAST = 0
LOAD_CONST = 1
STORE_FAST = 2
POP = 3
NULL = 4
JUMP = 5
COPY = 6
SWAP = 7
ROT = 8
BUILD_TUPLE = 9
LOAD_TEMP = 10
STORE_TEMP = 11
DELETE_TEMP = 12
BRANCH_TRUE = 13
BRANCH_FALSE = 14
BRANCH_NONE = 15
BRANCH_NOT_NONE = 16
RARE = 17  # always silent, looked up by name in ``silent.RARE``
FOLD = 18  # silent on operands that are known well enough, looked up by name in ``silent.FOLDS``; else an event
EVENT = 19  # always observable

RARE_OPS = frozenset(
    {ops.LOAD_CLOSURE, ops.LOAD_LOCALS, ops.LOAD_COMMON, ops.BUILD_LIST, ops.BUILD_SLICE, ops.IS}
    | {ops.LOAD_FAST_CLEAR, ops.RESTORE_FAST, ops.PUSH_EXC_INFO, ops.POP_EXCEPT, ops.RERAISE, ops.MAKE_FUNCTION}
    | {ops.MATCH_MAPPING, ops.MATCH_SEQUENCE}
)
FOLD_OPS = frozenset(
    {
        ops.DELETE_FAST,
        ops.DELETE_SUBSCR,
        ops.LOAD_ATTR,
        ops.LOAD_METHOD,
        ops.CALL,
        ops.SUBSCR,
        ops.STORE_SUBSCR,
        ops.BINARY,
        ops.UNARY,
    }
    | {ops.COMPARE, ops.LIST_APPEND, ops.LIST_EXTEND, ops.LIST_TO_TUPLE, ops.UNPACK_SEQUENCE, ops.BUILD_MAP, ops.RAISE}
    | {
        ops.BUILD_CONST_KEY_MAP,
        ops.BUILD_SET,
        ops.SET_ADD,
        ops.SET_UPDATE,
        ops.MAP_ADD,
        ops.DICT_UPDATE,
        ops.DICT_MERGE,
    }
    | {ops.SET_FUNCTION_ATTRIBUTE, ops.EXC_MATCH, ops.FORMAT, ops.BUILD_STRING}
)

BRANCHES = {"true": BRANCH_TRUE, "false": BRANCH_FALSE, "none": BRANCH_NONE, "not none": BRANCH_NOT_NONE}

KINDS: dict[str, int] = {
    ops.LOAD_FAST: LOAD_FAST,
    ops.LOAD_CONST: LOAD_CONST,
    ops.STORE_FAST: STORE_FAST,
    ops.POP: POP,
    ops.NULL: NULL,
    ops.JUMP: JUMP,
    ops.COPY: COPY,
    ops.SWAP: SWAP,
    ops.ROT: ROT,
    ops.BUILD_TUPLE: BUILD_TUPLE,
    **dict.fromkeys(RARE_OPS, RARE),
    **dict.fromkeys(FOLD_OPS, FOLD),
}
"""Operations that are in no table here are events."""
