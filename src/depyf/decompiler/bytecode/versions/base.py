"""Rule builders, and the rules that mean the same in every CPython version."""

from __future__ import annotations

from typing import Any

from depyf.decompiler.bytecode import ops
from depyf.decompiler.bytecode.versions.spec import INVALID, Context, Rule


def fixed(op: str, arg: Any = None) -> Rule:
    """One operation with a constant argument."""

    def rule(cx: Context, i: int, _: int) -> None:
        cx.out.append((op, arg, -1, i))

    return rule


def counted(op: str, plus: int = 0) -> Rule:
    """One operation whose argument is the raw argument (plus a constant)."""

    def rule(cx: Context, i: int, arg: int) -> None:
        cx.out.append((op, arg + plus, -1, i))

    return rule


def named(op: str) -> Rule:
    """One operation on ``co_names[arg]``."""

    def rule(cx: Context, i: int, arg: int) -> None:
        cx.out.append((op, cx.names[arg], -1, i))

    return rule


def local(op: str) -> Rule:
    """One operation on the fast local ``arg``; ``co_varnames`` come first in every layout that has them."""

    def rule(cx: Context, i: int, arg: int) -> None:
        cx.out.append((op, cx.localsplus[arg], -1, i))

    return rule


def chosen(op: str, choices: tuple[Any, ...]) -> Rule:
    """One operation whose argument is an entry of a table."""

    def rule(cx: Context, i: int, arg: int) -> None:
        cx.out.append((op, choices[arg], -1, i))

    return rule


def branch(test: str) -> Rule:
    """A conditional jump that always pops its operand."""

    def rule(cx: Context, i: int, _: int) -> None:
        cx.out.append((ops.BRANCH, test, cx.raw.targets[i], i))

    return rule


def branch_or_pop(test: str) -> Rule:
    """JUMP_IF_TRUE_OR_POP and its twin: the operand stays on the stack when the jump is taken."""

    def rule(cx: Context, i: int, _: int) -> None:
        cx.out += ((ops.COPY, 1, -1, i), (ops.BRANCH, test, cx.raw.targets[i], i), (ops.POP, None, -1, i))

    return rule


def invalid(reason: str) -> Rule:
    """An instruction that no valid code reaches: harmless in dead code, an error anywhere else."""

    def rule(cx: Context, i: int, _: int) -> None:
        cx.out.append((INVALID, reason, -1, i))

    return rule


def jump(cx: Context, i: int, _: int) -> None:
    cx.out.append((ops.JUMP, None, cx.raw.targets[i], i))


def print_expr(cx: Context, i: int, _: int) -> None:
    """What 3.12+ does in two instructions: an intrinsic with a result, which is dropped."""
    cx.out.append((ops.INTRINSIC, ("PRINT", 1), -1, i))
    cx.out.append((ops.POP, None, -1, i))


def load_const(cx: Context, i: int, arg: int) -> None:
    cx.out.append((ops.LOAD_CONST, cx.consts[arg], -1, i))


def unpack_ex(cx: Context, i: int, arg: int) -> None:
    cx.out.append((ops.UNPACK_EX, (arg & 0xFF, arg >> 8), -1, i))


def check_mask(cx: Context, i: int, kind: int, arg: int) -> None:
    """Raise where the low bits of COMPARE_OP are those of another comparison (``compare_masks``, Python/compile.c)."""
    if _MASKS[kind] != arg & 15:
        raise cx.error(i, "it compares in two ways")


_MASKS = (2, 10, 8, 7, 4, 12)
"""Of ``<  <=  ==  !=  >  >=``: which of unordered (1), less (2), greater (4) and equal (8) make it true."""


def loop_end(cx: Context, i: int, expected: tuple[tuple[str, ...], ...]) -> int:
    """The raw instruction where FOR_ITER ``i`` goes on when the iterator is exhausted: it steps over one that it does
    not look at."""
    raw = cx.raw
    end = raw.targets[i]
    found = raw.names[end : end + len(expected)]
    fits = len(found) == len(expected) and all(name in names for name, names in zip(found, expected))
    if not fits or raw.has_prefix(end):
        raise cx.error(i, f"no {' and '.join(names[0] for names in expected)} at its exit")
    raw.jumped_to.add(end + len(expected))
    return end + len(expected)


FUNCTION_EXTRAS = ("defaults", "kwdefaults", "annotations", "closure")


def function_extras(cx: Context, i: int, arg: int) -> tuple[str, ...]:
    """The names of the slots below the code object of MAKE_FUNCTION."""
    if arg > 15:
        raise cx.error(i, f"unknown flags {arg}")
    return tuple(name for bit, name in enumerate(FUNCTION_EXTRAS) if arg >> bit & 1)


def make_function(cx: Context, i: int, arg: int) -> None:
    cx.out.append((ops.MAKE_FUNCTION, function_extras(cx, i, arg), -1, i))


def format_value(cx: Context, i: int, arg: int) -> None:
    if arg > 7:
        raise cx.error(i, f"unknown flags {arg}")
    cx.out.append((ops.FORMAT, (("", "s", "r", "a")[arg & 3], bool(arg & 4)), -1, i))


def keyword_names(cx: Context, i: int, names: Any) -> tuple[str, ...]:
    """``names`` as the keywords of a call, checked: hostile code may put anything there."""
    if type(names) is not tuple or not all(type(name) is str for name in names):
        raise cx.error(i, "keyword names are not a tuple of strings")
    return names


def const_key_map(cx: Context, i: int, arg: int) -> None:
    keys = cx.out[-1] if cx.out and i not in cx.raw.jumped_to else None
    if keys is None or keys[0] != ops.LOAD_CONST or type(keys[1]) is not tuple or len(keys[1]) != arg:
        raise cx.error(i, f"its keys are no constant tuple of {arg}")
    cx.out.append((ops.BUILD_CONST_KEY_MAP, arg, -1, i))


RULES: dict[str, Rule | None] = {
    "NOP": None,
    "EXTENDED_ARG": invalid("the interpreter made it of another one while it ran"),
    "POP_TOP": fixed(ops.POP),
    "LOAD_CONST": load_const,
    "LOAD_GLOBAL": named(ops.LOAD_GLOBAL),
    "STORE_GLOBAL": named(ops.STORE_GLOBAL),
    "DELETE_GLOBAL": named(ops.DELETE_GLOBAL),
    "LOAD_NAME": named(ops.LOAD_NAME),
    "STORE_NAME": named(ops.STORE_NAME),
    "DELETE_NAME": named(ops.DELETE_NAME),
    "LOAD_DEREF": local(ops.LOAD_DEREF),
    "STORE_DEREF": local(ops.STORE_DEREF),
    "DELETE_DEREF": local(ops.DELETE_DEREF),
    "LOAD_CLASSDEREF": local(ops.LOAD_CLASSDEREF),
    "LOAD_CLOSURE": local(ops.LOAD_CLOSURE),
    "LOAD_BUILD_CLASS": fixed(ops.LOAD_BUILD_CLASS),
    "SETUP_ANNOTATIONS": fixed(ops.SETUP_ANNOTATIONS),
    "LOAD_ATTR": named(ops.LOAD_ATTR),
    "LOAD_METHOD": named(ops.LOAD_METHOD),
    "STORE_ATTR": named(ops.STORE_ATTR),
    "DELETE_ATTR": named(ops.DELETE_ATTR),
    "BINARY_SUBSCR": fixed(ops.SUBSCR),
    "STORE_SUBSCR": fixed(ops.STORE_SUBSCR),
    "DELETE_SUBSCR": fixed(ops.DELETE_SUBSCR),
    "BUILD_SLICE": counted(ops.BUILD_SLICE),
    "UNARY_POSITIVE": fixed(ops.UNARY, "+"),
    "UNARY_NEGATIVE": fixed(ops.UNARY, "-"),
    "UNARY_NOT": fixed(ops.UNARY, "not"),
    "UNARY_INVERT": fixed(ops.UNARY, "~"),
    "BUILD_TUPLE": counted(ops.BUILD_TUPLE),
    "BUILD_LIST": counted(ops.BUILD_LIST),
    "BUILD_SET": counted(ops.BUILD_SET),
    "BUILD_MAP": counted(ops.BUILD_MAP),
    "BUILD_CONST_KEY_MAP": const_key_map,
    "BUILD_STRING": counted(ops.BUILD_STRING),
    "FORMAT_VALUE": format_value,
    "LIST_APPEND": counted(ops.LIST_APPEND),
    "SET_ADD": counted(ops.SET_ADD),
    "MAP_ADD": counted(ops.MAP_ADD),
    "UNPACK_SEQUENCE": counted(ops.UNPACK_SEQUENCE),
    "UNPACK_EX": unpack_ex,
    "MAKE_FUNCTION": make_function,
    "IMPORT_NAME": named(ops.IMPORT_NAME),
    "IMPORT_FROM": named(ops.IMPORT_FROM),
    "IMPORT_STAR": fixed(ops.IMPORT_STAR),
    "GET_ITER": fixed(ops.GET_ITER, 1),
    "GET_AITER": fixed(ops.GET_AITER),
    "GET_ANEXT": fixed(ops.GET_ANEXT),
    "GET_AWAITABLE": fixed(ops.GET_AWAITABLE),
    "GET_YIELD_FROM_ITER": fixed(ops.GET_YIELD_FROM_ITER),
    "YIELD_VALUE": fixed(ops.YIELD),
    "RETURN_VALUE": fixed(ops.RETURN),
    "RAISE_VARARGS": counted(ops.RAISE),
    "JUMP_FORWARD": jump,
    "JUMP_ABSOLUTE": jump,
    "PRINT_EXPR": print_expr,
}
