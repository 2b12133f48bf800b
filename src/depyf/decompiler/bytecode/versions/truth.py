"""Truth tests (3.13+): one instruction makes a bool, the next compares it with True or False by identity.

::

    TO_BOOL; POP_JUMP_IF_FALSE          ->  BRANCH false           the test and its use are one operation, as before
    COMPARE_OP bool(<); UNARY_NOT       ->  COMPARE <; UNARY not
    TO_BOOL                             ->  UNARY not; UNARY not   ``not not x``: the bool itself is the value
    LOAD_FAST; POP_JUMP_IF_FALSE        ->  IS False; BRANCH true  no compiler writes it: nothing has made a bool
"""

from __future__ import annotations

from depyf.decompiler.bytecode import ops
from depyf.decompiler.bytecode.versions.base import check_mask
from depyf.decompiler.bytecode.versions.spec import Context, Rule

_TESTS = frozenset({"POP_JUMP_IF_TRUE", "POP_JUMP_IF_FALSE", "UNARY_NOT"})
_MAKERS = frozenset(
    {"TO_BOOL", "UNARY_NOT", "IS_OP", "CONTAINS_OP", "CHECK_EXC_MATCH", "MATCH_MAPPING", "MATCH_SEQUENCE"}
)
"""What leaves a bool on the stack, whatever its operands are."""
_AS_BOOL = 16
"""The bit of COMPARE_OP that says that the result is made a bool."""
IDLE = frozenset({"NOP", "NOT_TAKEN"})
"""Operations without effect, whatever runs before and after them."""


def to_bool(cx: Context, i: int, _: int) -> None:
    _make_bool(cx, i)


def compare(symbols: tuple[str, ...]) -> Rule:
    """COMPARE_OP, which may make a bool of what the comparison gave."""

    def rule(cx: Context, i: int, arg: int) -> None:
        check_mask(cx, i, arg >> 5, arg)
        cx.emit(ops.COMPARE, symbols[arg >> 5], i)
        if arg & _AS_BOOL:
            _make_bool(cx, i)

    return rule


def branch(truth: bool) -> Rule:
    """POP_JUMP_IF_TRUE and POP_JUMP_IF_FALSE."""

    def rule(cx: Context, i: int, _: int) -> None:
        target = cx.raw.targets[i]
        if _is_bool(cx, i):
            cx.out.append((ops.BRANCH, "true" if truth else "false", target, i))
        else:
            cx.emit(ops.LOAD_CONST, truth, i)
            cx.emit(ops.IS, "is", i)
            cx.out.append((ops.BRANCH, "true", target, i))

    return rule


def unary_not(cx: Context, i: int, _: int) -> None:
    if _is_bool(cx, i):
        # what makes the bool is what may raise: where that is one operation with this one, its handler counts
        cx.emit(ops.UNARY, "not", i - 1 if cx.raw.names[i - 1] in ("TO_BOOL", "COMPARE_OP") else i)
    else:
        cx.emit(ops.LOAD_CONST, False, i)
        cx.emit(ops.IS, "is", i)


def _make_bool(cx: Context, i: int) -> None:
    """What raw instruction ``i`` leaves becomes a bool, unless the next instruction is the test that wants one."""
    following = cx.raw.names[i + 1 : i + 2]
    if not following or following[0] not in _TESTS or i + 1 in cx.raw.jumped_to:
        cx.emit(ops.UNARY, "not", i)
        cx.emit(ops.UNARY, "not", i)


def _is_bool(cx: Context, i: int) -> bool:
    """Whether the operand of raw instruction ``i`` is a bool on every path, as far as its neighbours tell."""
    raw = cx.raw
    while i not in raw.jumped_to and i:
        i -= 1
        name = raw.names[i]
        if name in _MAKERS:
            return True
        if name == "COMPARE_OP":
            return bool(raw.args[i] & _AS_BOOL) or _compares_numbers(raw.names, i)
        if name in ("LOAD_CONST", "LOAD_COMMON_CONSTANT"):
            return bool(cx.out) and cx.out[-1][0] == ops.LOAD_CONST and type(cx.out[-1][1]) is bool
        if name not in IDLE:
            break
    return False


def _compares_numbers(names: list[str], i: int) -> bool:
    """The two comparisons for which compilers do without the bit: the length of a ``case``'s subject, and the format
    that an annotation is asked for (text for either compiles to the same instructions)."""
    if names[i - 2] == "GET_LEN":
        return True
    raises = [name for name in names[i + 2 : i + 5] if name not in IDLE]
    return i < _FIRST and raises[:2] == ["LOAD_COMMON_CONSTANT", "RAISE_VARARGS"]


_FIRST = 8
"""The test of the format stands among the first instructions."""
