"""Operations that are always silent but too rare for the main loop of ``silent``.

Each takes one step of one side and returns the next pc, or None for the instruction after it.
"""

from __future__ import annotations

from collections.abc import Callable

from depyf.decompiler.bytecode import ops
from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.verify.relation.end_order import unknown
from depyf.decompiler.verify.relation.facts import (
    DICT,
    LIST,
    SET,
    exception_of,
    is_none,
    new_fresh,
    raised,
    take,
)
from depyf.decompiler.verify.relation.lifetimes import leaves, still_held
from depyf.decompiler.verify.relation.values import Values
from depyf.decompiler.verify.state.checked_code import ORIGINAL
from depyf.decompiler.verify.state.proof_state import Pair, Side, resolve
from depyf.decompiler.verify.state.unwinding import SAVED
from depyf.decompiler.verify.verdict import Mismatch


def _load_closure(pair: Pair, side: Side, values: Values, arg: str) -> None:
    side.stack.append(values.op("cell", (arg, pair.epoch)))


def _load_locals(pair: Pair, side: Side, values: Values, arg: None) -> None:
    side.stack.append(values.op("locals", ()))


def _load_common(pair: Pair, side: Side, values: Values, arg: str) -> None:
    side.stack.append(values.op("common", (arg,)))


def _build_list(pair: Pair, side: Side, values: Values, count: int) -> None:
    side.stack.append(new_fresh(pair, values, LIST, take(side.stack, count)))


def _build_slice(pair: Pair, side: Side, values: Values, count: int) -> None:
    side.stack.append(values.slice_of(take(side.stack, count)))


def _is(pair: Pair, side: Side, values: Values, arg: str) -> None:
    left, right = take(side.stack, 2)
    if pair.alias or pair.facts:
        memo: dict[int, int] = {}
        left, right = resolve(pair, values, left, memo), resolve(pair, values, right, memo)
    result = -1
    for value, against in ((left, right), (right, left)):
        if value in pair.fresh and values.is_constant(against):
            result = values.false  # a container just made is no constant
        if against == values.none:
            none = is_none(pair, values, value)
            if none is not None:
                result = values.true if none else values.false
    if result < 0:
        result = values.identity(left, right)
    side.stack.append(values.negated(result) if arg == "is not" else result)


def _load_fast_clear(pair: Pair, side: Side, values: Values, name: str) -> None:
    value = side.dirty.get(name)
    if value is None:
        value = pair.loc.get(name)
    if value is None:
        sure = side.program.surely_bound(side.pc, name)
        value = values.new(None if sure else ("maybe",))
        pair.bind(name, value)
    side.stack.append(value)
    side.dirty[name] = values.unbound


def _restore_fast(pair: Pair, side: Side, values: Values, name: str) -> None:
    old = side.dirty.get(name, pair.loc.get(name, -1))
    side.gone.append(old if old >= 0 else unknown(pair, name))
    value = side.stack.pop()
    side.dirty[name] = values.unbound if value == values.null else value


def _push_exc_info(pair: Pair, side: Side, values: Values, arg: None) -> None:
    side.stack.insert(len(side.stack) - 1, side.cur)
    side.cur = side.stack[-1]


def _pop_except(pair: Pair, side: Side, values: Values, count: int) -> None:
    slots = take(side.stack, count)
    side.cur = slots[0] if count == 1 else slots[1]


def _reraise(pair: Pair, side: Side, values: Values, arg: int) -> int:
    return raise_again(pair, side, values, raised(values, exception_of(values, side.stack[-1])))


def raise_again(pair: Pair, side: Side, values: Values, exc: int) -> int:
    """``throw`` for an exception that no operation has raised."""
    target = throw(side, values, exc)
    if side is pair.b and target >= 0 and pair.temps:
        # as for an exception of an operation: what is not read any more counts as unwound with the stack
        live = side.program.live_temps(target)
        kept = {*pair.a.stack, *[value for name, value in pair.temps.items() if name[0] == ORIGINAL]}
        if pair.fresh:  # what a list on the stack holds is held as well
            kept |= leaves(pair, values, kept)
        if pair.alias:  # objects that were matched have one number for each side, and a common one
            memo: dict[int, int] = {}
            kept.update([resolve(pair, values, value, memo) for value in kept])
            kept.update([value for value in pair.temps.values() if resolve(pair, values, value, memo) in kept])
        before = len(pair.temps)
        pair.temps = {
            name: value for name, value in pair.temps.items() if name in live or value in kept or name[0] == ORIGINAL
        }
        if target in side.program.asking:
            pair.temps = still_held(pair, values, pair.temps, kept)
        side.program.forgets = side.program.forgets or len(pair.temps) < before
    return target


def throw(side: Side, values: Values, exc: int) -> int:
    """Unwind ``side`` to the handler of the instruction it stands at; the new pc, -1 outside the frame."""
    program = side.program
    index = program.handler[side.pc]
    side.cur = program.unwound(side.pc, side.stack, side.cur)
    if index < 0:
        side.stack.clear()
        side.exc = exc
        return -1
    handler = program.handlers[index]
    del side.stack[handler.depth :]
    enter_handler(side.stack, side, values, handler.pushes, exc)
    return handler.target


def enter_handler(stack: list[int], side: Side, values: Values, pushes: tuple[str, ...], exc: int) -> None:
    """What the interpreter pushes at a handler entry; before 3.11 it also makes the exception the handled one."""
    old = side.cur
    for slot in pushes:
        if slot == "exc" or slot == "value":
            stack.append(exc)
        elif slot == "lasti":
            stack.append(values.lasti)
        elif slot == SAVED:
            stack.append(old)
        else:
            stack.append(values.op("type of" if slot.endswith("type") else "tb of", (old if "old" in slot else exc,)))
    if SAVED in pushes:
        side.cur = exc


def _make_function(pair: Pair, side: Side, values: Values, extras: tuple[str, ...]) -> None:
    items = take(side.stack, len(extras) + 1)
    made_of = values.desc[items[-1]]
    if made_of is None or made_of[0] != "const" or type(made_of[1]) is not CodeUnit:
        raise Mismatch(f"{side.program.describe(side.pc)}: it is given no constant code object")
    side.stack.append(new_fresh(pair, values, ("function", *extras), (items[-1], *items[:-1])))


NO_COLLECTIONS = frozenset({int, float, complex, bool, str, bytes, type(None), slice})
"""Types that match no pattern of a sequence or a mapping; nothing can register them as such, as they are immutable."""


def _match_type(tag: str, kind: tuple[str, ...]) -> Callable[[Pair, Side, Values, None], None]:
    """``kind`` is the fresh container that passes the test; the others do not."""

    def step(pair: Pair, side: Side, values: Values, arg: None) -> None:
        value = side.stack[-1]
        if pair.alias or pair.facts:
            value = resolve(pair, values, value, {})
        inside = pair.fresh.get(value)
        known = values.desc[value]
        if inside is not None and inside[0] in (LIST, DICT, SET):
            side.stack.append(values.true if inside[0] == kind else values.false)
        elif known is not None and (known[0:2] == ("op", "tuple") or (known[0] == "const" and type(known[1]) is tuple)):
            side.stack.append(values.true if kind == LIST else values.false)
        elif values.is_bool(value) or (known is not None and known[0] == "const" and type(known[1]) in NO_COLLECTIONS):
            side.stack.append(values.false)
        else:
            side.stack.append(values.op(tag, (value,)))

    return step


RARE: dict[str, Callable[..., int | None]] = {
    ops.LOAD_CLOSURE: _load_closure,
    ops.LOAD_LOCALS: _load_locals,
    ops.LOAD_COMMON: _load_common,
    ops.BUILD_LIST: _build_list,
    ops.BUILD_SLICE: _build_slice,
    ops.IS: _is,
    ops.LOAD_FAST_CLEAR: _load_fast_clear,
    ops.RESTORE_FAST: _restore_fast,
    ops.PUSH_EXC_INFO: _push_exc_info,
    ops.POP_EXCEPT: _pop_except,
    ops.RERAISE: _reraise,
    ops.MAKE_FUNCTION: _make_function,
    ops.MATCH_MAPPING: _match_type("mapping?", DICT),
    ops.MATCH_SEQUENCE: _match_type("sequence?", LIST),
}
