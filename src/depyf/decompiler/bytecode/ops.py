"""The version-free instruction set that every stage after ``bytecode/`` uses.

Input invariant: none, this module is a vocabulary.  Output invariant: whatever CPython 3.8-3.15 wrote, the lowering
in ``bytecode/`` expresses it in exactly these operations, so nothing downstream asks for a version.

An instruction names its operation, a *resolved* argument (a name, a constant, an operator symbol, never a raw index),
for jumps the index of the target instruction, the source line, the byte offset it came from and the exception handler
that protects it.  Stacks are written bottom to top, ``[a, b]`` has ``b`` on top.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple


class Handler(NamedTuple):
    """The handler to which a protected instruction raises.

    ``target`` is the index of the first handler instruction; ``depth`` is how many stack slots survive; ``pushes``
    names the slots the interpreter pushes then, bottom to top: ``("exc",)`` or ``("lasti", "exc")`` from 3.11,
    ``("old_tb", "old_value", "old_type", "tb", "value", "type")`` before.
    """

    target: int
    depth: int
    pushes: tuple[str, ...]


@dataclass(slots=True)
class Instr:
    """One normalised instruction; ``target`` and ``handler`` are -1 where there is none.  Nothing changes one.

    It is no tuple: its fields are read a hundred times as often as it is made, and those of a tuple take longer to
    read.
    """

    op: str
    arg: Any
    target: int
    line: int | None
    offset: int
    handler: int


class CallShape(NamedTuple):
    """Argument of ``CALL``: stack is ``[slot] * slots + positional + keyword values``.

    ``slots`` is 1 (before 3.11: the callable) or 2.  With two slots one of them may hold NULL: the other one is then
    the callable; if neither is NULL the lower one is the callable and the upper one its first positional argument.
    ``keywords`` names the last ``len(keywords)`` values.
    """

    slots: int
    count: int  # type: ignore[assignment]  # shadows tuple.count, which is of no use here
    keywords: tuple[str, ...]


# Stack only; never observable.
NULL = "NULL"  # push the NULL marker that call sequences carry since 3.11
POP = "POP"
COPY = "COPY"  # arg n: push the n-th slot from the top (1 = top)
SWAP = "SWAP"  # arg n: exchange the top with the n-th slot (2 = next)
ROT = "ROT"  # arg n: move the top below the n - 1 slots under it
LOAD_CONST = "LOAD_CONST"  # arg: the constant (nested code as a CodeUnit)

# Names; the arg is the name.
LOAD_FAST = "LOAD_FAST"
STORE_FAST = "STORE_FAST"
DELETE_FAST = "DELETE_FAST"
LOAD_FAST_CLEAR = "LOAD_FAST_CLEAR"  # push the value (or NULL when unbound) and unbind: inlined comprehensions, 3.12+
RESTORE_FAST = "RESTORE_FAST"  # the STORE_FAST that ends such a region: pops value-or-NULL, NULL unbinds
LOAD_DEREF = "LOAD_DEREF"
STORE_DEREF = "STORE_DEREF"
DELETE_DEREF = "DELETE_DEREF"
LOAD_CLASSDEREF = "LOAD_CLASSDEREF"  # class body: look in the namespace, then in the cell
LOAD_CLOSURE = "LOAD_CLOSURE"  # push the cell object itself
MAKE_CELL = (
    "MAKE_CELL"  # only where it is not at the function's start (3.12+ inlined comprehensions): rebind a fresh cell
)
LOAD_GLOBAL = "LOAD_GLOBAL"
STORE_GLOBAL = "STORE_GLOBAL"
DELETE_GLOBAL = "DELETE_GLOBAL"
LOAD_NAME = "LOAD_NAME"
STORE_NAME = "STORE_NAME"
DELETE_NAME = "DELETE_NAME"
LOAD_LOCALS = "LOAD_LOCALS"  # push the namespace mapping (3.12+)
LOAD_FROM_DICT_OR_DEREF = "LOAD_FROM_DICT_OR_DEREF"  # [mapping] -> [value]
LOAD_FROM_DICT_OR_GLOBALS = "LOAD_FROM_DICT_OR_GLOBALS"  # [mapping] -> [value]
LOAD_COMMON = "LOAD_COMMON"  # arg: "AssertionError", "NotImplementedError", "tuple", "all", "any", ...
LOAD_BUILD_CLASS = "LOAD_BUILD_CLASS"
SETUP_ANNOTATIONS = "SETUP_ANNOTATIONS"

# Objects.
LOAD_ATTR = "LOAD_ATTR"  # [obj] -> [value]
LOAD_METHOD = "LOAD_METHOD"  # [obj] -> [method, self-or-NULL] as a call sequence wants them
LOAD_SUPER_ATTR = "LOAD_SUPER_ATTR"  # arg (name, two_args); [super, class, self] -> [value]
LOAD_SUPER_METHOD = "LOAD_SUPER_METHOD"  # arg (name, two_args); [super, class, self] -> [method, self-or-NULL]
STORE_ATTR = "STORE_ATTR"  # [value, obj] -> []
DELETE_ATTR = "DELETE_ATTR"  # [obj] -> []
SUBSCR = "SUBSCR"  # [obj, key] -> [value]
STORE_SUBSCR = "STORE_SUBSCR"  # [value, obj, key] -> []
DELETE_SUBSCR = "DELETE_SUBSCR"  # [obj, key] -> []
BUILD_SLICE = "BUILD_SLICE"  # arg 2 or 3

# Operators.
BINARY = "BINARY"  # arg "+", "-", ... or in-place "+=", ...; [left, right] -> [value]
UNARY = "UNARY"  # arg "-", "+", "~", "not"
COMPARE = "COMPARE"  # arg "<", "<=", "==", "!=", ">", ">="
IS = "IS"  # arg "is" or "is not"
CONTAINS = "CONTAINS"  # arg "in" or "not in"; [item, container] -> [bool]

# Containers and strings.
BUILD_TUPLE = "BUILD_TUPLE"  # arg n
BUILD_LIST = "BUILD_LIST"  # arg n
BUILD_SET = "BUILD_SET"  # arg n
BUILD_MAP = "BUILD_MAP"  # arg n pairs; [k1, v1, ...] -> [dict]
BUILD_CONST_KEY_MAP = "BUILD_CONST_KEY_MAP"  # arg n; [v1, ..., vn, keys] -> [dict]
BUILD_STRING = "BUILD_STRING"  # arg n
FORMAT = "FORMAT"  # arg (conversion "", "s", "r" or "a"; has_spec); [value (, spec)] -> [str]
CONVERT = "CONVERT"  # arg "s", "r", "a" (3.13+); [value] -> [str]
BUILD_INTERPOLATION = "BUILD_INTERPOLATION"  # arg (conversion, has_spec); [value, text (, spec)] -> [Interpolation]
BUILD_TEMPLATE = "BUILD_TEMPLATE"  # [strings, interpolations] -> [Template]
LIST_APPEND = "LIST_APPEND"  # arg i: [.., list at depth i below the top after the pop, .., item] -> item popped
SET_ADD = "SET_ADD"
MAP_ADD = "MAP_ADD"  # [.., key, value], evaluated key first in every version
LIST_EXTEND = "LIST_EXTEND"
SET_UPDATE = "SET_UPDATE"
DICT_UPDATE = "DICT_UPDATE"
DICT_MERGE = "DICT_MERGE"
LIST_TO_TUPLE = "LIST_TO_TUPLE"
BUILD_UNPACK = "BUILD_UNPACK"  # 3.8 only; arg (kind "tuple" "list" "set" "map" "call_tuple" "call_map", n)
UNPACK_SEQUENCE = "UNPACK_SEQUENCE"  # arg n; pushes n values, the first item on top
UNPACK_EX = "UNPACK_EX"  # arg (before, after); the first item on top

# Calls and functions.
CALL = "CALL"  # arg CallShape
CALL_EX = "CALL_EX"  # arg (slots, has_kwargs); [slots.., args (, kwargs)] -> [value]
MAKE_FUNCTION = "MAKE_FUNCTION"  # arg: names of the extra slots, of "defaults" "kwdefaults" "annotations" "closure";
#   [extras in that order .., code] -> [function] (the qualified name that was pushed before 3.11 is folded away)
SET_FUNCTION_ATTRIBUTE = (
    "SET_FUNCTION_ATTRIBUTE"  # 3.13+: arg one of these names, or "annotate"; [value, function] -> [function]
)
INTRINSIC = "INTRINSIC"  # arg (name, n): CALL_INTRINSIC_n that has no separate operation here; pops n, pushes 1

# Imports.
IMPORT_NAME = "IMPORT_NAME"  # arg name; [level, fromlist] -> [module]
IMPORT_NAME_LAZY = "IMPORT_NAME_LAZY"  # 3.15 `lazy import` and `lazy from .. import`: as IMPORT_NAME
IMPORT_FROM = "IMPORT_FROM"  # arg name; [module] -> [module, value]
IMPORT_STAR = "IMPORT_STAR"  # [module] -> []

# Iteration, generators, coroutines.
GET_ITER = "GET_ITER"  # arg slots (1, or 2 from 3.15: iterator and a NULL-like index); [obj] -> [slots..]
FOR_ITER = "FOR_ITER"  # arg slots; [slots..] -> [slots.., item], or pops the slots and jumps to target when exhausted
GET_AITER = "GET_AITER"
GET_ANEXT = "GET_ANEXT"  # [aiter] -> [aiter, awaitable]
GET_AWAITABLE = "GET_AWAITABLE"  # [obj] -> [awaitable iterator]
GET_YIELD_FROM_ITER = "GET_YIELD_FROM_ITER"
DELEGATE = "DELEGATE"  # [iterator] -> [result]: the whole send/yield loop of `await` and `yield from`
YIELD = "YIELD"  # [value] -> [sent]
END_ASYNC_FOR = "END_ASYNC_FOR"  # arg n slots: pops aiter and the exception slots if StopAsyncIteration, else re-raises

# Exceptions and context managers.
PUSH_EXC_INFO = "PUSH_EXC_INFO"  # [exc] -> [old, exc]
POP_EXCEPT = "POP_EXCEPT"  # arg n: pops the n old exc_info slots
EXC_MATCH = "EXC_MATCH"  # [exc, type] -> [exc, bool]
EG_MATCH = "EG_MATCH"  # [exc, type] -> [rest, match]; a match becomes the handled exception
PREP_RERAISE_STAR = "PREP_RERAISE_STAR"  # [orig, list] -> [exc-or-None]
BEFORE_WITH = "BEFORE_WITH"  # arg slots of the exit (1, or 2 from 3.14); [manager] -> [exit slots.., entered]
BEFORE_ASYNC_WITH = "BEFORE_ASYNC_WITH"  # the same; the entered value is an awaitable
WITH_EXCEPT_START = "WITH_EXCEPT_START"  # arg n: the exit callable is the n-th slot from the top; pushes its result

# Pattern matching.
MATCH_CLASS = "MATCH_CLASS"  # arg n positional; [subject, class, names] -> [tuple-or-None]
MATCH_MAPPING = "MATCH_MAPPING"  # [subject] -> [subject, bool]
MATCH_SEQUENCE = "MATCH_SEQUENCE"  # [subject] -> [subject, bool]
MATCH_KEYS = (
    "MATCH_KEYS"  # [subject, keys] -> [subject, keys, values-or-None] (3.10 pushes a bool too: lowered to this)
)
COPY_DICT_WITHOUT_KEYS = "COPY_DICT_WITHOUT_KEYS"  # [subject, keys] -> [subject, rest]
GET_LEN = "GET_LEN"  # [obj] -> [obj, len]

# Control flow.  BRANCH pops its operand and jumps to target when the test holds, else falls through.
JUMP = "JUMP"
BRANCH = "BRANCH"  # arg "true", "false", "none", "not none"
RETURN = "RETURN"  # [value]
RAISE = "RAISE"  # arg 0, 1 or 2
RERAISE = "RERAISE"  # arg: how many exception slots it pops

LOCALS = frozenset({LOAD_FAST, STORE_FAST, DELETE_FAST, LOAD_FAST_CLEAR, RESTORE_FAST})
"""The operations that read or change a local variable."""

TERMINATORS = frozenset({JUMP, RETURN, RAISE, RERAISE})
JUMPS = frozenset({JUMP, BRANCH, FOR_ITER})

SILENT: frozenset[str] = frozenset(
    {NULL, POP, COPY, SWAP, ROT, LOAD_CONST, LOAD_CLOSURE, LOAD_LOCALS, LOAD_COMMON, LOAD_BUILD_CLASS}
    | {BUILD_TUPLE, BUILD_LIST, JUMP, LIST_APPEND, LIST_TO_TUPLE, STORE_FAST, LOAD_FAST_CLEAR, RESTORE_FAST}
    | {PUSH_EXC_INFO, POP_EXCEPT, RETURN, STORE_DEREF, MAKE_FUNCTION, SET_FUNCTION_ATTRIBUTE, BUILD_SLICE, MAKE_CELL}
    | {BUILD_STRING, MATCH_MAPPING, MATCH_SEQUENCE, IS}
)
"""Operations that never raise (memory and recursion limits aside), so their handler does not matter.

LOAD_FAST, LOAD_DEREF and DELETE_FAST are absent: they raise on an unbound variable.
"""

FIXED_EFFECTS: dict[str, tuple[int, int]] = {
    NULL: (0, 1), POP: (1, 0), LOAD_CONST: (0, 1), LOAD_FAST: (0, 1), STORE_FAST: (1, 0), DELETE_FAST: (0, 0),
    LOAD_FAST_CLEAR: (0, 1), RESTORE_FAST: (1, 0), LOAD_DEREF: (0, 1), STORE_DEREF: (1, 0), DELETE_DEREF: (0, 0),
    LOAD_CLASSDEREF: (0, 1), LOAD_CLOSURE: (0, 1), MAKE_CELL: (0, 0), LOAD_GLOBAL: (0, 1), STORE_GLOBAL: (1, 0),
    DELETE_GLOBAL: (0, 0), LOAD_NAME: (0, 1), STORE_NAME: (1, 0), DELETE_NAME: (0, 0), LOAD_LOCALS: (0, 1),
    LOAD_FROM_DICT_OR_DEREF: (1, 1), LOAD_FROM_DICT_OR_GLOBALS: (1, 1), LOAD_COMMON: (0, 1), LOAD_BUILD_CLASS: (0, 1),
    SETUP_ANNOTATIONS: (0, 0), LOAD_ATTR: (1, 1), LOAD_METHOD: (1, 2), LOAD_SUPER_ATTR: (3, 1),
    LOAD_SUPER_METHOD: (3, 2), STORE_ATTR: (2, 0), DELETE_ATTR: (1, 0), SUBSCR: (2, 1), STORE_SUBSCR: (3, 0),
    DELETE_SUBSCR: (2, 0), BINARY: (2, 1), UNARY: (1, 1), COMPARE: (2, 1), IS: (2, 1), CONTAINS: (2, 1),
    CONVERT: (1, 1), BUILD_TEMPLATE: (2, 1), LIST_APPEND: (1, 0), SET_ADD: (1, 0), MAP_ADD: (2, 0),
    LIST_EXTEND: (1, 0), SET_UPDATE: (1, 0), DICT_UPDATE: (1, 0), DICT_MERGE: (1, 0), LIST_TO_TUPLE: (1, 1),
    SET_FUNCTION_ATTRIBUTE: (2, 1), IMPORT_NAME: (2, 1), IMPORT_NAME_LAZY: (2, 1), IMPORT_FROM: (1, 2),
    IMPORT_STAR: (1, 0), GET_AITER: (1, 1), GET_ANEXT: (1, 2), GET_AWAITABLE: (1, 1), GET_YIELD_FROM_ITER: (1, 1),
    DELEGATE: (1, 1), YIELD: (1, 1), PUSH_EXC_INFO: (1, 2), EXC_MATCH: (2, 2), EG_MATCH: (2, 2),
    PREP_RERAISE_STAR: (2, 1), WITH_EXCEPT_START: (0, 1), MATCH_CLASS: (3, 1), MATCH_MAPPING: (1, 2),
    MATCH_SEQUENCE: (1, 2), MATCH_KEYS: (2, 3), COPY_DICT_WITHOUT_KEYS: (2, 2), GET_LEN: (1, 2), JUMP: (0, 0),
    BRANCH: (1, 0), RETURN: (1, 0),
}  # fmt: skip
"""``stack_effect`` of the operations whose effect does not depend on the argument."""


def stack_effect(op: str, arg: Any) -> tuple[int, int]:
    """How many slots ``op`` takes from the stack and how many it puts back, on the fall-through path.

    ``COPY``, ``SWAP`` and ``ROT`` are given as if they took and returned everything they touch.  The exhausted exit
    of ``FOR_ITER`` leaves ``arg + 1`` slots fewer than its fall-through.
    """
    fixed = FIXED_EFFECTS.get(op)
    if fixed is not None:
        return fixed
    if op == COPY:
        return arg, arg + 1
    if op in (SWAP, ROT):
        return arg, arg
    if op in (BUILD_TUPLE, BUILD_LIST, BUILD_SET, BUILD_STRING, BUILD_SLICE):
        return arg, 1
    if op == BUILD_MAP:
        return 2 * arg, 1
    if op == BUILD_CONST_KEY_MAP:
        return arg + 1, 1
    if op == FORMAT:
        return 1 + arg[1], 1
    if op == BUILD_INTERPOLATION:
        return 2 + arg[1], 1
    if op == BUILD_UNPACK:
        return arg[1], 1
    if op == UNPACK_SEQUENCE:
        return 1, arg
    if op == UNPACK_EX:
        return 1, arg[0] + 1 + arg[1]
    if op == CALL:
        return arg.slots + arg.count + len(arg.keywords), 1
    if op == CALL_EX:
        return arg[0] + 1 + arg[1], 1
    if op == MAKE_FUNCTION:
        return len(arg) + 1, 1
    if op == INTRINSIC:
        return arg[1], 1
    if op == GET_ITER:
        return 1, arg
    if op == FOR_ITER:
        return arg, arg + 1
    if op in (END_ASYNC_FOR, POP_EXCEPT, RERAISE, RAISE):
        return arg, 0
    if op in (BEFORE_WITH, BEFORE_ASYNC_WITH):
        return 1, arg + 1
    raise ValueError(f"unknown operation {op!r}")
