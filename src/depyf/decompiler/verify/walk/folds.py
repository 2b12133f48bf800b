"""Operations that are silent where their operands are known well enough: fresh containers, constants, bound locals.

Each takes the step and returns True, or leaves everything as it is and returns False: then the operation is an event.
"""

from __future__ import annotations

from collections.abc import Callable

from depyf.decompiler.bytecode import ops
from depyf.decompiler.verify.relation.facts import (
    LIST,
    SET,
    bound_method,
    bound_now,
    callee_of,
    container_kind,
    elements,
    exception_of,
    is_exception,
    new_fresh,
    splats,
    take,
    truth_of,
)
from depyf.decompiler.verify.relation.values import Values
from depyf.decompiler.verify.state.proof_state import Pair, Side, resolve
from depyf.decompiler.verify.walk import by_name, dispatch, managers
from depyf.decompiler.verify.walk.filling import (
    add_pair,
    build_const_key_map,
    build_map,
    build_set,
    decided,
    grow,
    joined,
    map_add,
    merge,
    set_add,
    set_update,
)
from depyf.decompiler.verify.walk.rare_steps import raise_again, throw


def _delete_fast(pair: Pair, side: Side, other: Side, values: Values, name: str) -> bool:
    value = side.dirty.get(name)
    if value is None:
        value = pair.loc.get(name)
    known = values.desc[value] if value is not None else None
    if value is None or (known is not None and known[0] == "maybe"):
        if not bound_now(side.program, side.pc, side, other, name):
            return False
        if value is None:
            value = values.new()
            pair.bind(name, value)
    elif value == values.unbound:
        return False
    side.gone.append(value)
    side.dirty[name] = values.unbound
    return True


def _load_attr(pair: Pair, side: Side, other: Side, values: Values, name: str) -> bool:
    result = _known_attribute(pair, side, other, values, name)
    if result < 0:
        return False
    side.stack[-1] = result
    return True


def _load_method(pair: Pair, side: Side, other: Side, values: Values, name: str) -> bool:
    result = _known_attribute(pair, side, other, values, name)
    if result < 0:
        return False
    side.stack[-1] = result
    side.stack.append(values.method)
    return True


def _known_attribute(pair: Pair, side: Side, other: Side, values: Values, name: str) -> int:
    """An attribute whose lookup is silent: the closure of a new function, methods of exact containers."""
    value = side.stack[-1]
    inside = pair.fresh.get(value)
    if inside is not None and name == "__closure__" and "closure" in inside[0]:
        return inside[1][inside[0].index("closure")]
    kind = container_kind(pair, values, value)
    if kind is not None and (kind, name) in CONTAINER_METHODS:
        return values.op(f"bound {name}", (value,))
    return managers.attribute(pair, side, other, values, name)


CONTAINER_METHODS = {
    ("list", "append"): ops.LIST_APPEND,
    ("list", "extend"): ops.LIST_EXTEND,
    ("set", "add"): ops.SET_ADD,
    ("set", "update"): ops.SET_UPDATE,
    ("dict", "update"): ops.DICT_UPDATE,
}


def _call(pair: Pair, side: Side, other: Side, values: Values, arg: ops.CallShape) -> bool:
    """``fresh_list.append(x)``, ``fresh_list.extend(known)`` and ``fresh_dict.update(known)``."""
    slots, count, keywords = arg
    if keywords:
        return False
    if managers.step_call(side, other, values, slots, count):
        return True
    if side.program.side and _builtin(pair, side, other, values, slots, count):
        return True
    if count != 1:
        return False
    stack = side.stack
    at = len(stack) - 1 - slots
    method = bound_method(values, stack[at]) or bound_method(values, stack[at + slots - 1])
    if method is None or method[0] not in ("append", "extend", "update") or method[1] not in pair.fresh:
        return False
    if method[0] == "update":
        if not joined(pair, side, other, values, method[1], stack[-1]):
            return False
        del stack[at:]
        stack.append(values.none)
        return True
    added = (stack[-1],) if method[0] == "append" else elements(pair, values, stack[-1])
    kind, items = pair.fresh[method[1]]
    if added is None or kind != LIST or len(items) > values.tracked:
        return False
    pair.fresh[method[1]] = (kind, (*items, *added))
    del stack[at:]
    stack.append(values.none)
    return True


def _builtin(pair: Pair, side: Side, other: Side, values: Values, slots: int, count: int) -> bool:
    """``slice(a, b)``, ``set()`` and ``tuple(known)`` of a list: what ``BUILD_SLICE``, ``BUILD_SET`` and
    ``LIST_TO_TUPLE`` do."""
    stack = side.stack
    at = len(stack) - count - slots
    callee, *bound = callee_of(values, stack, at, slots)
    called = values.desc[callee]
    said = by_name.step(side, other, values, callee, (*bound, *stack[len(stack) - count :]))
    if said >= 0:
        result = said
    elif called == ("const", slice) and count in (2, 3):
        result = values.slice_of(tuple(stack[-count:]))
    elif called == ("const", set) and not count:
        result = new_fresh(pair, values, SET, ())
    elif called == ("const", tuple) and count == 1 and stack[-1] in pair.fresh:
        items = elements(pair, values, stack[-1])
        if items is None or splats(values, items):
            return False
        result = values.tuple_of(items)
    else:
        return False
    del stack[at:]
    stack.append(result)
    return True


def _subscr(pair: Pair, side: Side, other: Side, values: Values, arg: None) -> bool:
    container, key = side.stack[-2:]
    items = elements(pair, values, container)
    if items is None or splats(values, items):
        return False
    if pair.facts:
        (key,) = decided(pair, values, (key,))
    known = values.desc[key]
    if known is None or known[0] != "const":
        return False
    index = known[1]
    if type(index) is int and -len(items) <= index < len(items):
        result = items[index]
    elif type(index) is slice and _plain_slice(index):
        part = items[index]
        result = new_fresh(pair, values, LIST, part) if container in pair.fresh else values.tuple_of(part)
    else:
        return False
    del side.stack[-2:]
    side.stack.append(result)
    return True


def _plain_slice(index: slice) -> bool:
    return all(part is None or type(part) is int for part in (index.start, index.stop, index.step)) and index.step != 0


def _store_subscr(pair: Pair, side: Side, other: Side, values: Values, arg: None) -> bool:
    value, container, key = side.stack[-3:]
    if not add_pair(pair, side, other, values, container, key, value) and not _replace_items(
        pair, values, container, key, value
    ):
        return False
    del side.stack[-3:]
    return True


def _list_index(pair: Pair, values: Values, container: int, key: int) -> tuple[tuple[int, ...], int | slice] | None:
    """Items of a fresh list and a constant index or slice of it that cannot fail."""
    inside = pair.fresh.get(container)
    if pair.facts:
        (key,) = decided(pair, values, (key,))
    known = values.desc[key]
    if inside is None or inside[0] != LIST or splats(values, inside[1]) or known is None or known[0] != "const":
        return None
    index = known[1]
    if type(index) is int and -len(inside[1]) <= index < len(inside[1]):
        return inside[1], index
    if type(index) is slice and _plain_slice(index) and index.step is None:
        return inside[1], index
    return None


def _replace_items(pair: Pair, values: Values, container: int, key: int, value: int) -> bool:
    """``fresh_list[index] = value`` and ``fresh_list[a:b] = known items``."""
    found = _list_index(pair, values, container, key)
    if found is None:
        return False
    items, index = list(found[0]), found[1]
    if isinstance(index, slice):
        source = elements(pair, values, value)
        if source is None or splats(values, source):
            return False
        items[index] = source
    else:
        items[index] = value
    if len(items) > values.tracked:
        return False
    pair.fresh[container] = (LIST, tuple(items))
    return True


def _delete_subscr(pair: Pair, side: Side, other: Side, values: Values, arg: None) -> bool:
    """``del fresh_list[index]``."""
    found = _list_index(pair, values, side.stack[-2], side.stack[-1])
    if found is None:
        return False
    items = list(found[0])
    del items[found[1]]
    pair.fresh[side.stack[-2]] = (LIST, tuple(items))
    del side.stack[-2:]
    return True


def _operator(name: str, count: int) -> Callable[[Pair, Side, Side, Values, str], bool]:
    def step(pair: Pair, side: Side, other: Side, values: Values, arg: str) -> bool:
        operands = tuple(side.stack[-count:])
        result = values.fold(name, arg, decided(pair, values, operands) if pair.facts else operands)
        if result is None:
            return False
        del side.stack[-count:]
        side.stack.append(result)
        return True

    return step


def _unary(pair: Pair, side: Side, other: Side, values: Values, arg: str) -> bool:
    value = side.stack[-1]
    if arg != "not":
        result = values.fold("UNARY", arg, decided(pair, values, (value,)) if pair.facts else (value,))
        if result is None:
            return False
        side.stack[-1] = result
        return True
    if pair.alias or pair.facts:
        value = resolve(pair, values, value, {})
    truth = truth_of(pair, values, value)
    if truth is not None:
        side.stack[-1] = values.false if truth else values.true
        return True
    if values.is_bool(value):
        side.stack[-1] = values.negated(value)
        return True
    return False


def _list_append(pair: Pair, side: Side, other: Side, values: Values, depth: int) -> bool:
    return grow(pair, side, values, depth, LIST, (side.stack[-1],))


def _list_extend(pair: Pair, side: Side, other: Side, values: Values, depth: int) -> bool:
    items = elements(pair, values, side.stack[-1])
    return items is not None and grow(pair, side, values, depth, LIST, items)


def _list_to_tuple(pair: Pair, side: Side, other: Side, values: Values, arg: None) -> bool:
    items = elements(pair, values, side.stack[-1])
    if items is None:
        return False
    side.stack[-1] = values.tuple_of(items)
    return True


def _unpack(pair: Pair, side: Side, other: Side, values: Values, count: int) -> bool:
    items = elements(pair, values, side.stack[-1])
    if items is None or len(items) != count:
        return False
    side.stack.pop()
    side.stack.extend(reversed(items))
    return True


def _set_function_attribute(pair: Pair, side: Side, other: Side, values: Values, name: str) -> bool:
    value, function = side.stack[-2:]
    inside = pair.fresh.get(function)
    if inside is None:
        return False
    pair.fresh[function] = ((*inside[0], name), (*inside[1], value))
    del side.stack[-2]
    return True


def _raise(pair: Pair, side: Side, other: Side, values: Values, count: int) -> bool:
    """What raises an exception that exists already runs no code: bare ``raise`` in a handler, or one with its value.

    The latter (``RAISE_VARARGS 1``) adds an entry for this frame to the traceback, as ``RERAISE`` and a bare ``raise``
    do not, and makes the exception being handled its ``__context__``, where that is another one.  Text has no other way
    to say ``RERAISE`` of what is not the exception being handled; the verdict says what that assumes
    (``CheckedCode.again``).
    """
    if count == 1 and side.program.side and not _raises(other):
        value = side.stack[-1]
        if not is_exception(values, value):
            return False
        side.program.again[side.pc] = side.program.again.get(side.pc, False) or value != side.cur
        side.stack.pop()
        side.pc = raise_again(pair, side, values, value)
        return True
    if count or side.cur == values.outer_exc:
        return False
    if not is_exception(values, side.cur):
        return False
    side.pc = throw(side, values, side.cur)
    return True


def _raises(side: Side) -> bool:
    return side.pc >= 0 and side.program.instrs[side.pc].op == ops.RAISE


def _format(pair: Pair, side: Side, other: Side, values: Values, arg: tuple[str, bool]) -> bool:
    """A plain string formats as itself.

    What a format or a conversion gives may be of a subclass of ``str``, which has its own ``__format__``.  Where the
    text has to format it once more, as it was put aside or as the original only converts it (3.13+), ``PLAIN_NOTE``
    names what that assumes.
    """
    if arg not in (("", False), ("s", False)):
        return False
    program, value = side.program, side.stack[-1]
    if values.is_string(value):
        return True
    if not program.side or arg[0] or not values.is_text(value):
        return False
    before = side.pc - 1
    if program.kind[before] != dispatch.LOAD_TEMP and program.instrs[before].op != ops.CONVERT:
        return False
    if other.pc >= 0 and other.program.key[other.pc] == (ops.FORMAT, arg) and other.stack[-1] == value:
        return False  # the original formats it as well
    program.formats = True
    return True


def _build_string(pair: Pair, side: Side, other: Side, values: Values, count: int) -> bool:
    """Strings are joined silently; anything else raises an error."""
    stack = side.stack
    if not all(map(values.is_text, stack[len(stack) - count :])):
        return False
    parts = take(stack, count)
    side.gone.extend(parts)
    stack.append(values.string_of(parts))
    return True


def _exc_match(pair: Pair, side: Side, other: Side, values: Values, arg: object) -> bool:
    """Every exception matches ``BaseException``, and no code runs to find that out."""
    if values.desc[side.stack[-1]] != ("const", BaseException):
        return False
    if not is_exception(values, exception_of(values, side.stack[-2])):
        return False
    side.stack[-1] = values.true
    return True


FOLDS: dict[str, Callable[..., bool]] = {
    ops.DELETE_FAST: _delete_fast,
    ops.LOAD_GLOBAL: by_name.look_up,
    ops.LOAD_NAME: by_name.look_up,
    ops.LOAD_ATTR: _load_attr,
    ops.LOAD_METHOD: _load_method,
    ops.CALL: _call,
    ops.SUBSCR: _subscr,
    ops.STORE_SUBSCR: _store_subscr,
    ops.DELETE_SUBSCR: _delete_subscr,
    ops.BINARY: _operator("BINARY", 2),
    ops.COMPARE: _operator("COMPARE", 2),
    ops.UNARY: _unary,
    ops.LIST_APPEND: _list_append,
    ops.LIST_EXTEND: _list_extend,
    ops.LIST_TO_TUPLE: _list_to_tuple,
    ops.UNPACK_SEQUENCE: _unpack,
    ops.BUILD_MAP: build_map,
    ops.BUILD_CONST_KEY_MAP: build_const_key_map,
    ops.BUILD_SET: build_set,
    ops.SET_ADD: set_add,
    ops.SET_UPDATE: set_update,
    ops.MAP_ADD: map_add,
    ops.DICT_UPDATE: merge,
    ops.DICT_MERGE: merge,
    ops.SET_FUNCTION_ATTRIBUTE: _set_function_attribute,
    ops.FORMAT: _format,
    ops.BUILD_STRING: _build_string,
    ops.RAISE: _raise,
    ops.EXC_MATCH: _exc_match,
}
