"""What a running pair knows about a value: its truth, its elements, the kind of container."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from depyf.decompiler.bytecode import ops
from depyf.decompiler.bytecode.ops import Instr
from depyf.decompiler.verify.relation.values import Values
from depyf.decompiler.verify.state.checked_code import CheckedCode
from depyf.decompiler.verify.state.proof_state import Pair, Side


def bound_now(program: CheckedCode, pc: int, side: Side, other: Side, name: str) -> bool:
    """Whether a user local without known value is surely bound, by the data flow of either side."""
    if program.surely_bound(pc, name):
        return True
    return name not in side.dirty and name not in other.dirty and other.program.surely_bound(other.pc, name)


def plain_bool(values: Values, value: int) -> tuple[int, bool]:
    """A boolean without its leading ``not``, and whether there was one."""
    known = values.desc[value]
    if known is not None and known[0] == "op" and known[1] == "not":
        return known[2][0], True
    return value, False


def truth_of(pair: Pair, values: Values, value: int) -> bool | None:
    inside = pair.fresh.get(value)
    if inside is not None:
        if inside[0][0] == "function":
            return True
        return None if splats(values, inside[1]) else bool(inside[1])
    return values.truth(value)


def splats(values: Values, items: tuple[int, ...]) -> bool:
    return any((known := values.desc[item]) is not None and known[0:2] == ("op", "splat") for item in items)


def is_none(pair: Pair, values: Values, value: int) -> bool | None:
    if value == values.none:
        return True
    if value in pair.fresh or values.never_none(value):
        return False
    return None


def elements(pair: Pair, values: Values, value: int) -> tuple[int, ...] | None:
    """The elements of a known tuple or of an unescaped list."""
    inside = pair.fresh.get(value)
    if inside is not None:
        if inside[0] != LIST or values.promised is not None and splats(values, inside[1]):
            return None
        return inside[1]
    known = values.desc[value]
    if known is None:
        return None
    if known[0] == "op" and known[1] == "tuple":
        items: tuple[int, ...] = known[2]
        return items
    if known[0] == "const" and type(known[1]) is tuple:
        return tuple([values.const(item) for item in known[1]])
    return None


LIST = ("list",)
DICT = ("dict",)
SET = ("set",)
MAX_TRACKED = 256
"""Growing a container past this many elements is an event: following it further would cost quadratic time.  Code that
takes more than that off the stack at once raises the bound (``widest``): the compiler collects the arguments of a wide
call in a list."""
_TAKEN = {
    ops.BUILD_TUPLE,
    ops.BUILD_LIST,
    ops.BUILD_SET,
    ops.BUILD_MAP,
    ops.BUILD_CONST_KEY_MAP,
    ops.UNPACK_SEQUENCE,
}


def widest(instrs: Iterable[Instr]) -> int:
    """The maximum number of values that one instruction takes or leaves."""
    return max(
        (
            instr.arg.count if instr.op == ops.CALL else instr.arg
            for instr in instrs
            if instr.op == ops.CALL or instr.op in _TAKEN
        ),
        default=0,
    )


def new_fresh(pair: Pair, values: Values, kind: tuple[object, ...], items: tuple[int, ...]) -> int:
    value = values.new()
    pair.fresh[value] = (kind, items)
    return value


def exception_of(values: Values, value: int) -> int:
    """The exception that the top slot denotes: before 3.11 that slot holds its type."""
    known = values.desc[value]
    if known is not None and known[0:2] == ("op", "type of"):
        found: int = known[2][0]
        return found
    return value


def raised(values: Values, value: int) -> int:
    """``value`` where it is known to be an exception, because ``RERAISE`` takes nothing else."""
    return value if is_exception(values, value) or value == values.outer_exc else values.exception(value)


def is_exception(values: Values, value: int) -> bool:
    """Whether a value is surely an exception."""
    return values.desc[value] == ("type", "exception")


def take(stack: list[int], count: int) -> tuple[int, ...]:
    """Pop ``count`` slots, bottom to top."""
    at = len(stack) - count
    items = tuple(stack[at:])
    del stack[at:]
    return items


def container_kind(pair: Pair, values: Values, value: int) -> str | None:
    """``"list"``, ``"dict"`` or ``"set"`` for an object of exactly that type."""
    inside = pair.fresh.get(value)
    if inside is not None:
        return str(inside[0][0])
    known = values.desc[pair.alias.get(value, value)]
    if known is not None and known[0] == "type" and known[1] in ("list", "dict", "set"):
        return str(known[1])
    return None


def callee_of(values: Values, stack: list[int], at: int, slots: int) -> tuple[int, ...]:
    """The callable and, from a method layout, its first argument.

    A NULL in the other slot than the interpreter checks is called, or passed as an argument.
    """
    if slots == 1:
        return (stack[at],)
    low, high = stack[at], stack[at + 1]
    if high == values.method or high == values.null and values.null_above:
        return (low,)
    if low == values.null and not values.null_above:
        return (high,)
    return (low, high)


def bound_method(values: Values, value: int) -> tuple[str, int] | None:
    known = values.desc[value]
    if known is None or known[0] != "op" or not known[1].startswith("bound "):
        return None
    return known[1][len("bound ") :], known[2][0]


def whole_update(pair: Pair, side: Side, values: Values) -> tuple[int, int] | None:
    """``known_dict.update({**x})`` at its inner update: the dict that ``x`` alone updates, and the slots that go.

    The unescaped dict of the display is the dict of no operation.
    """
    stack, program = side.stack, side.program
    instr = program.instrs[side.pc]
    if instr.op != ops.DICT_UPDATE or instr.arg != 1 or len(stack) < 4 or pair.fresh.get(stack[-2]) != (DICT, ()):
        return None
    after = program.instrs[side.pc + 1]
    if after.op != ops.CALL or after.handler != instr.handler or after.arg[1:] != (1, ()):
        return None
    slots = after.arg.slots
    at = len(stack) - 2 - slots
    method = bound_method(values, callee_of(values, stack, at, slots)[0]) if at >= 0 else None
    if method is None or method[0] != "update" or container_kind(pair, values, method[1]) != "dict":
        return None
    return method[1], slots + 2


def update_operands(pair: Pair, side: Side, values: Values) -> Iterator[int]:
    """The dicts that wait for the ``x`` of ``known_dict.update({**x})``: nothing in the original is one of them."""
    if not side.program.side:
        return
    for at, value in enumerate(side.stack):
        if pair.fresh.get(value) == (DICT, ()):
            below = [bound_method(values, callee) for callee in side.stack[max(at - 2, 0) : at]]
            if any(method is not None and method[0] == "update" for method in below):
                yield value


def plain_key(values: Values, key: int) -> bool:
    """A constant that hashes and compares without running code."""
    known = values.desc[key]
    return known is not None and known[0] == "const" and type(known[1]) in PLAIN_KEYS


PLAIN_KEYS = frozenset({str, int, bytes, bool, type(None), float})


def const_key_pairs(pair: Pair, values: Values, stack: list[int], count: int) -> tuple[int, ...]:
    """The operands of ``BUILD_CONST_KEY_MAP`` in the order of ``BUILD_MAP``."""
    keys = elements(pair, values, stack[-1]) or ()
    found = stack[len(stack) - 1 - count : -1]
    return tuple([item for both in zip(keys, found) for item in both])
