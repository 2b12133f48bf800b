"""Observable operations in one normal form, whatever instructions express them.

``event_of`` turns the instruction a side stands before into an ``Event``: a key that must be equal on both sides, the
operands that must be the same values, and how the stack changes.  Call layouts, method loads, constant-key dicts and
displays the compiler folds into constants are brought to one form here.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any, NamedTuple

from depyf.decompiler.bytecode import ops
from depyf.decompiler.verify.relation.facts import (
    DICT,
    LIST,
    SET,
    bound_method,
    callee_of,
    const_key_pairs,
    container_kind,
    elements,
    exception_of,
    whole_update,
)
from depyf.decompiler.verify.relation.values import TEXT, Values
from depyf.decompiler.verify.state.proof_state import Pair, Side
from depyf.decompiler.verify.walk import dispatch, managers
from depyf.decompiler.verify.walk.by_name import said_by_call
from depyf.decompiler.verify.walk.step import CIRCLE
from depyf.decompiler.verify.walk.wide import made_by_call

Key = tuple[Any, ...]


class Event(NamedTuple):
    """``pops`` slots go, then ``results`` new values (the same on both sides) and ``extra`` (this side's) come.

    With ``negated`` this side's result is ``not`` the common one; ``ahead`` instructions more are a part of the event.
    """

    key: Key
    operands: tuple[int, ...]
    pops: int
    results: int
    extra: tuple[int, ...] = ()
    negated: bool = False
    ahead: int = 0


UNWIND: Key = ("UNWIND",)
DIVERGE: Key = ("DIVERGE",)
TRUTH: Key = ("TRUTH",)
RETURN: Key = (ops.RETURN, None)

# operation -> slots read, slots popped, values pushed, for those that keep what they read
KEEPING = {
    ops.IMPORT_FROM: (1, 0, 1),
    ops.GET_ANEXT: (1, 0, 1),
    ops.EXC_MATCH: (2, 1, 1),
    ops.MATCH_KEYS: (2, 0, 1),
    ops.COPY_DICT_WITHOUT_KEYS: (2, 1, 1),
    ops.GET_LEN: (1, 0, 1),
}

RESULT_TYPES = {
    ops.CONTAINS: "bool",
    ops.EXC_MATCH: "bool",
    "TRUTH": "bool",
    ops.FORMAT: TEXT,
    ops.CONVERT: TEXT,
    ops.BUILD_STRING: "str",
    ops.BUILD_SET: "set",
    ops.BUILD_MAP: "dict",
    ops.GET_ITER: "iter",
}


def event_of(pair: Pair, side: Side, values: Values) -> Event:
    """The event ``side`` stands before."""
    pc = side.pc
    if pc < 0:
        return Event(UNWIND, (side.exc,), 0, 0)
    if side.split == CIRCLE:
        return Event(DIVERGE, (), 0, 0)
    program = side.program
    if dispatch.BRANCH_TRUE <= program.kind[pc] <= dispatch.BRANCH_FALSE:
        return Event(TRUTH, (side.stack[-1],), 1, 0)
    key = program.key[pc]
    builder = BUILDERS.get(key[0])
    if builder is not None:
        return builder(pair, side, values, key[1])
    shape = program.shapes.get(pc)
    if shape is None:
        shape = KEEPING.get(key[0])
        if shape is None:
            pops, pushes = ops.stack_effect(*key)
            shape = (pops, pops, pushes)
        program.shapes[pc] = shape
    reads, pops, results = shape
    stack = side.stack
    return Event(key, tuple(stack[len(stack) - reads :]), pops, results)


def _load_fast(pair: Pair, side: Side, values: Values, name: str) -> Event:
    return Event((ops.LOAD_FAST, name), (), 0, 1)


def _load_method(pair: Pair, side: Side, values: Values, name: str) -> Event:
    if values.promised is not None and values.promised.pops(pair, side):
        return Event((ops.SUBSCR, None), (side.stack[-1], values.const(-1)), 1, 1, ahead=1)
    return Event((ops.LOAD_ATTR, name), (side.stack[-1],), 1, 1, (values.method,))


def _load_super_method(pair: Pair, side: Side, values: Values, arg: tuple[str, bool]) -> Event:
    return Event((ops.LOAD_SUPER_ATTR, arg), tuple(side.stack[-3:]), 3, 1, (values.method,))


def _call(pair: Pair, side: Side, values: Values, arg: ops.CallShape) -> Event:
    slots, count, keywords = arg
    stack = side.stack
    pops = slots + count + len(keywords)
    callee = callee_of(values, stack, len(stack) - pops, slots)
    arguments = (*callee[1:], *stack[len(stack) - pops + slots :])
    if len(arguments) == 1 and not keywords and values.desc[callee[0]] == ("const", builtins.iter):
        return Event((ops.GET_ITER,), arguments, pops, 1)
    said = said_by_call(pair, values, callee[0], arguments, keywords) if side.program.side else None
    if said is not None:
        return Event(said.key, said.operands, pops, said.results, () if said.results else (values.none,))
    if side.program.side and not keywords:
        whole = len(arguments) == 1 and container_kind(pair, values, arguments[0]) == "list"
        if whole and values.desc[callee[0]] == ("const", tuple):
            return Event((ops.LIST_TO_TUPLE, None), arguments, pops, 1)
        if values.desc[callee[0]] == ("const", len) and len(arguments) == 1 and pair.a.pc >= 0:
            if pair.a.program.instrs[pair.a.pc].op == ops.GET_LEN:
                return Event(pair.a.program.key[pair.a.pc], arguments, pops, 1)
        made = made_by_call(pair, values, callee[0], arguments)
        if made is not None:
            count = len(made[1]) // 2 if made[0] == ops.BUILD_MAP else len(made[1])
            return Event((made[0], count), made[1], pops, 1)
        manager = managers.entered(pair, values, callee[0], len(arguments))
        if manager >= 0:
            return Event(pair.a.program.key[pair.a.pc], (manager,), pops, 1)
        if managers.exits(pair, values, arguments):
            return Event((ops.WITH_EXCEPT_START,), (callee[0], arguments[1]), pops, 1)
    method = bound_method(values, callee[0])
    if method is not None and len(arguments) == 1 and not keywords:
        kind = container_kind(pair, values, method[1])
        op = f"{kind}_{method[0]}".upper()
        if op == ops.DICT_UPDATE and container_kind(pair, values, arguments[0]) != "dict":
            op = "dict.update"  # takes more than mappings do
        return Event((op,), (method[1], arguments[0]), pops, 0, (values.none,))
    return Event((ops.CALL, keywords), (callee[0], *arguments), pops, 1)


def _call_ex(pair: Pair, side: Side, values: Values, arg: tuple[int, bool]) -> Event:
    """``f(*known, **known)`` is the plain call."""
    slots, has_kwargs = arg
    stack = side.stack
    pops = slots + 1 + has_kwargs
    callee = callee_of(values, stack, len(stack) - pops, slots)
    tail = tuple(stack[len(stack) - 1 - has_kwargs :])
    if has_kwargs and tail[-1] == values.null:  # 3.14 always has the slot; empty, it is a call without a mapping
        has_kwargs, tail = False, tail[:1]
    items = elements(pair, values, tail[0])
    if items is not None:
        keywords = _keywords(pair, values, tail[-1]) if has_kwargs else ((), ())
        if keywords is not None:
            return Event((ops.CALL, keywords[0]), (*callee, *items, *keywords[1]), pops, 1)
    elif has_kwargs and _empty_and_alone(pair, side, tail[-1]):
        has_kwargs, tail = False, tail[:1]
    return Event((ops.CALL_EX, has_kwargs), (*callee, *tail), pops, 1)


def _list_to_tuple(pair: Pair, side: Side, values: Values, arg: None) -> Event:
    """``f(*items)`` at its tuple, where the bytecode calls with the list: ``CALL_EX`` makes that tuple itself."""
    stack, program, original = side.stack, side.program, pair.a
    if program.side and original.pc >= 0 and original.program.instrs[original.pc].op == ops.CALL_EX:
        instr, after = program.instrs[side.pc : side.pc + 2]
        ahead = 1
        if after.op == ops.NULL:  # 3.14: no mapping
            after, ahead = program.instrs[side.pc + 2], 2
        called = after.op == ops.CALL_EX and after.arg[1] == (ahead == 2) and after.handler == instr.handler
        theirs = event_of(pair, original, values)
        if (
            called
            and theirs.key == (ops.CALL_EX, False)
            and container_kind(pair, values, theirs.operands[-1]) == "list"
        ):
            slots = after.arg[0]
            callee = callee_of(values, stack, len(stack) - slots - 1, slots)
            return Event(theirs.key, (*callee, stack[-1]), slots + 1, 1, ahead=ahead)
    return Event((ops.LIST_TO_TUPLE, arg), (stack[-1],), 1, 1)


def _empty_and_alone(pair: Pair, side: Side, value: int) -> bool:
    """Whether ``value`` is a new empty dict that nothing else holds: ``f(*args, **{})`` is ``f(*args)``, whatever ``f``
    is.

    CALL_FUNCTION_EX (3.8-3.15) takes an exact dict as it is: no code runs for it, and ``args`` becomes a tuple in both.
    ``_PyVectorcall_Call`` takes the same path for an empty dict as for none, and so without keyword names; a Python
    function has a new dict for ``**``; a ``tp_call`` in C gets an empty dict or NULL, which its protocol defines to be
    the same, as it is for ``f(x, **{})`` above.  What such a callee leaves in the dict is not observable, because
    nothing else holds it.
    """
    return (
        pair.fresh.get(value) == (DICT, ())
        and side.stack.count(value) == 1
        and value not in pair.temps.values()
        and value not in pair.loc.values()
        and not any(value in inside[1] for inside in pair.fresh.values())
    )


def _dict_merge(pair: Pair, side: Side, values: Values, depth: int) -> Event:
    """``f(*args, **mapping)`` at its merge, where the bytecode calls with the mapping as it is (only a program writes
    that).

    The dict made for the call has nothing else in it.  Of what is no exact dict ``CALL_EX`` makes such a dict itself,
    by the same merge; an exact one it hands to the callee, which a Python function copies (``KEYWORDS_NOTE``).
    """
    stack, program, original = side.stack, side.program, pair.a
    instr = program.instrs[side.pc]
    whole = depth == 1 and program.side and len(stack) > 1 and pair.fresh.get(stack[-2]) == (DICT, ())
    if whole and original.pc >= 0 and original.program.instrs[original.pc].op == ops.CALL_EX:
        after = program.instrs[side.pc + 1]
        if after.op == ops.CALL_EX and after.arg[1] and after.handler == instr.handler:
            slots, pops = after.arg[0], after.arg[0] + 3
            callee = callee_of(values, stack, len(stack) - pops, slots)
            return Event((ops.CALL_EX, True), (*callee, stack[-3], stack[-1]), pops, 1, ahead=1)
    return Event((ops.DICT_MERGE,), (stack[-1 - depth], stack[-1]), 1, 0)


def _keywords(pair: Pair, values: Values, value: int) -> tuple[tuple[str, ...], tuple[int, ...]] | None:
    """Names and values of a dict display with constant string keys."""
    inside = pair.fresh.get(value)
    if inside is None or inside[0] != DICT:
        return None
    names = values.constants(inside[1][::2])
    if names is None or not all(type(name) is str for name in names):
        return None
    return tuple(names), inside[1][1::2]


def _not(pair: Pair, side: Side, values: Values, arg: str) -> Event:
    if arg == "not":
        return Event(TRUTH, (side.stack[-1],), 1, 0)
    return Event((ops.UNARY, arg), (side.stack[-1],), 1, 1)


def _build_const_key_map(pair: Pair, side: Side, values: Values, count: int) -> Event:
    return Event((ops.BUILD_MAP, count), const_key_pairs(pair, values, side.stack, count), count + 1, 1)


def _container_op(op: str, items: int) -> Callable[[Pair, Side, Values, int], Event]:
    """Operations that reach down the stack for their container."""

    def build(pair: Pair, side: Side, values: Values, depth: int) -> Event:
        stack = side.stack
        return Event((op,), (stack[-items - depth], *stack[-items:]), items, 0)

    return build


def _dict_update(pair: Pair, side: Side, values: Values, depth: int) -> Event:
    stack = side.stack
    found = whole_update(pair, side, values)
    if found is not None:
        return Event((ops.DICT_UPDATE,), (found[0], stack[-1]), found[1], 0, (values.none,), ahead=1)
    return Event((ops.DICT_UPDATE,), (stack[-1 - depth], stack[-1]), 1, 0)


def _store_subscr(pair: Pair, side: Side, values: Values, arg: None) -> Event:
    value, container, key = side.stack[-3:]
    if container_kind(pair, values, container) == "dict":
        return Event((ops.MAP_ADD,), (container, key, value), 3, 0)
    return Event((ops.STORE_SUBSCR,), (value, container, key), 3, 0)


def _contains(pair: Pair, side: Side, values: Values, arg: str) -> Event:
    item, container = side.stack[-2:]
    operands = (item, _as_constant(pair, values, container))
    return Event((ops.CONTAINS,), operands, 2, 1, negated=arg == "not in")


def _get_iter(pair: Pair, side: Side, values: Values, slots: int) -> Event:
    value = side.stack[-1]
    inside = pair.fresh.get(value)
    other = pair.b if side is pair.a else pair.a
    if (
        elements(pair, values, value) is not None
        and inside is not None
        and other.program.key[other.pc][0] == ops.GET_ITER
    ):
        value = values.tuple_of(
            inside[1]
        )  # a compiler makes a tuple of the list in a ``for``; ``iter([x])`` stays what it is
    return Event((ops.GET_ITER,), (value,), 1, slots)


def _as_constant(pair: Pair, values: Values, container: int) -> int:
    """``x in [1, 2]`` and ``x in {1, 2}`` test against a constant once compiled."""
    inside = pair.fresh.get(container)
    if inside is None:
        return _searched(values, container)
    if inside[0] == LIST:
        return container if elements(pair, values, container) is None else values.tuple_of(inside[1])
    if inside[0] == SET:
        known = values.desc[inside[1][0]] if len(inside[1]) == 1 else None
        if known is not None and known[0:2] == ("op", "splat"):
            found: int = known[2][0]
            return _searched(values, found)
        constants = values.constants(inside[1])
        if constants is not None:
            return values.searched(frozenset(constants))
    return container


def _searched(values: Values, container: int) -> int:
    """A constant set whose iteration order is not observable."""
    known = values.desc[container]
    if known is not None and known[0] == "const" and type(known[1]) is frozenset:
        return values.searched(known[1])
    return container


def _for_iter(pair: Pair, side: Side, values: Values, slots: int) -> Event:
    return Event((ops.FOR_ITER,), (side.stack[-slots],), 0, 1)


def _end_async_for(pair: Pair, side: Side, values: Values, slots: int) -> Event:
    return Event((ops.END_ASYNC_FOR,), (exception_of(values, side.stack[-1]),), slots, 0)


def _with_except_start(pair: Pair, side: Side, values: Values, depth: int) -> Event:
    stack = side.stack
    return Event((ops.WITH_EXCEPT_START,), (stack[-depth], exception_of(values, stack[-1])), 0, 1)


def _build_string(pair: Pair, side: Side, values: Values, count: int) -> Event:
    stack = side.stack
    return Event((ops.BUILD_STRING,), values.joined(tuple(stack[len(stack) - count :])), count, 1)


def _get_awaitable(pair: Pair, side: Side, values: Values, origin: int | None) -> Event:
    """``origin``, what the awaitable is taken from, chooses the words of an error."""
    return Event((ops.GET_AWAITABLE,), (side.stack[-1],), 1, 1)


def _make_cell(pair: Pair, side: Side, values: Values, name: str) -> Event:
    return Event((ops.MAKE_CELL, name), (), 0, 0)


BUILDERS: dict[str, Callable[..., Event]] = {
    ops.LOAD_FAST: _load_fast,
    ops.LOAD_METHOD: _load_method,
    ops.LOAD_SUPER_METHOD: _load_super_method,
    ops.CALL: _call,
    ops.CALL_EX: _call_ex,
    ops.UNARY: _not,
    ops.BUILD_CONST_KEY_MAP: _build_const_key_map,
    ops.LIST_APPEND: _container_op(ops.LIST_APPEND, 1),
    ops.LIST_TO_TUPLE: _list_to_tuple,
    ops.LIST_EXTEND: _container_op(ops.LIST_EXTEND, 1),
    ops.SET_ADD: _container_op(ops.SET_ADD, 1),
    ops.SET_UPDATE: _container_op(ops.SET_UPDATE, 1),
    ops.DICT_UPDATE: _dict_update,
    ops.DICT_MERGE: _dict_merge,
    ops.MAP_ADD: _container_op(ops.MAP_ADD, 2),
    ops.STORE_SUBSCR: _store_subscr,
    ops.CONTAINS: _contains,
    ops.GET_ITER: _get_iter,
    ops.FOR_ITER: _for_iter,
    ops.END_ASYNC_FOR: _end_async_for,
    ops.WITH_EXCEPT_START: _with_except_start,
    ops.BUILD_STRING: _build_string,
    ops.GET_AWAITABLE: _get_awaitable,
    ops.MAKE_CELL: _make_cell,
}
