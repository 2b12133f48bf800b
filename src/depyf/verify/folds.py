"""Operations that are silent where their operands are known well enough: fresh containers, constants, bound locals.

Each takes the step and returns True, or leaves everything as it is and returns False: then the operation is an event.
"""

from __future__ import annotations

from collections.abc import Callable

from depyf.bytecode import ops
from depyf.verify import kinds, managers
from depyf.verify.copies import copies_made
from depyf.verify.known import (
    DICT,
    LIST,
    PLAIN_KEYS,
    SET,
    bound_method,
    bound_now,
    callee_of,
    const_key_pairs,
    container_kind,
    elements,
    exception_of,
    is_exception,
    new_fresh,
    plain_key,
    splats,
    take,
    truth_of,
)
from depyf.verify.quiet import raise_again, throw
from depyf.verify.state import Pair, Side, resolve
from depyf.verify.values import Values

_FILLED = 3
"""From this many constants on the compiler fills a set display from one constant (3.9+)."""


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
    if side.program.side and _builtin(pair, side, values, slots, count):
        return True
    if count != 1:
        return False
    stack = side.stack
    at = len(stack) - 1 - slots
    method = bound_method(values, stack[at]) or bound_method(values, stack[at + slots - 1])
    if method is None or method[0] not in ("append", "extend", "update") or method[1] not in pair.fresh:
        return False
    if method[0] == "update":
        if not _joined(pair, values, method[1], stack[-1]):
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


def _builtin(pair: Pair, side: Side, values: Values, slots: int, count: int) -> bool:
    """``slice(a, b)``, ``set()`` and ``tuple(known)`` of a list: what ``BUILD_SLICE``, ``BUILD_SET`` and ``LIST_TO_TUPLE`` do."""
    stack = side.stack
    at = len(stack) - count - slots
    called = values.desc[callee_of(values, stack, at, slots)[0]]
    if called == ("const", slice) and count in (2, 3):
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
        (key,) = _decided(pair, values, (key,))
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
    if not _add_pair(pair, values, container, key, value) and not _replace_items(pair, values, container, key, value):
        return False
    del side.stack[-3:]
    return True


def _list_index(pair: Pair, values: Values, container: int, key: int) -> tuple[tuple[int, ...], int | slice] | None:
    """Items of a fresh list and a constant index or slice of it that cannot fail."""
    inside = pair.fresh.get(container)
    if pair.facts:
        (key,) = _decided(pair, values, (key,))
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


def _add_pair(pair: Pair, values: Values, container: int, key: int, value: int) -> bool:
    """``container[key] = value`` for a fresh dict and a new constant key."""
    inside = pair.fresh.get(container)
    if inside is None or inside[0] != DICT or not plain_key(values, key) or len(inside[1]) > values.tracked:
        return False
    if _has_key(values, inside[1][::2], key):
        return False
    pair.fresh[container] = (DICT, (*inside[1], key, value))
    return True


def _has_key(values: Values, keys: tuple[int, ...], key: int) -> bool:
    wanted = values.desc[key][1]  # type: ignore[index]
    return any(values.desc[k][1] == wanted for k in keys)  # type: ignore[index]


def _operator(name: str, count: int) -> Callable[[Pair, Side, Side, Values, str], bool]:
    def step(pair: Pair, side: Side, other: Side, values: Values, arg: str) -> bool:
        operands = tuple(side.stack[-count:])
        result = values.fold(name, arg, _decided(pair, values, operands) if pair.facts else operands)
        if result is None:
            return False
        del side.stack[-count:]
        side.stack.append(result)
        return True

    return step


def _unary(pair: Pair, side: Side, other: Side, values: Values, arg: str) -> bool:
    value = side.stack[-1]
    if arg != "not":
        result = values.fold("UNARY", arg, _decided(pair, values, (value,)) if pair.facts else (value,))
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
    return _grow(pair, side, values, depth, LIST, (side.stack[-1],))


def _list_extend(pair: Pair, side: Side, other: Side, values: Values, depth: int) -> bool:
    items = elements(pair, values, side.stack[-1])
    return items is not None and _grow(pair, side, values, depth, LIST, items)


def _set_add(pair: Pair, side: Side, other: Side, values: Values, depth: int) -> bool:
    return plain_key(values, side.stack[-1]) and _grow(pair, side, values, depth, SET, (side.stack[-1],))


def _set_update(pair: Pair, side: Side, other: Side, values: Values, depth: int) -> bool:
    known = values.desc[side.stack[-1]]
    if known == ("const", ()) and container_kind(pair, values, side.stack[-1 - depth]) == "set":
        side.stack.pop()  # an empty set is written {*()}
        return True
    if known is None or known[0] != "const" or type(known[1]) is not frozenset:
        return False
    if not all(type(item) in PLAIN_KEYS for item in known[1]):
        return False
    return _grow(pair, side, values, depth, SET, (values.op("splat", (side.stack[-1],)),))


def _grow(pair: Pair, side: Side, values: Values, depth: int, kind: tuple[object, ...], items: tuple[int, ...]) -> bool:
    """Add ``items`` to the fresh container ``depth`` below the top once the top is popped."""
    container = side.stack[-1 - depth]
    inside = pair.fresh.get(container)
    if inside is None or inside[0] != kind or len(inside[1]) > values.tracked:
        return False
    pair.fresh[container] = (kind, (*inside[1], *items))
    side.stack.pop()
    return True


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


def _build_map(pair: Pair, side: Side, other: Side, values: Values, count: int) -> bool:
    stack = side.stack
    return _new_dict(pair, side, values, tuple(stack[len(stack) - 2 * count :]), 2 * count)


def _build_const_key_map(pair: Pair, side: Side, other: Side, values: Values, count: int) -> bool:
    return _new_dict(pair, side, values, const_key_pairs(pair, values, side.stack, count), count + 1)


def _decided(pair: Pair, values: Values, items: tuple[int, ...]) -> tuple[int, ...]:
    """``items`` with the booleans that this path has decided: the other code may have branched to get a constant."""
    memo: dict[int, int] = {}
    return tuple([resolve(pair, values, item, memo) for item in items])


def _new_dict(pair: Pair, side: Side, values: Values, items: tuple[int, ...], pops: int) -> bool:
    if pair.facts:
        items = _decided(pair, values, items)
    keys = items[::2]
    if not all(plain_key(values, key) for key in keys):
        return False
    if len({values.desc[key][1] for key in keys}) != len(keys):  # type: ignore[index]
        return False
    del side.stack[len(side.stack) - pops :]
    side.stack.append(new_fresh(pair, values, DICT, items))
    return True


def _build_set(pair: Pair, side: Side, other: Side, values: Values, count: int) -> bool:
    items = tuple(side.stack[len(side.stack) - count :])
    if pair.facts:
        items = _decided(pair, values, items)
    if not all(plain_key(values, item) for item in items):
        return False
    take(side.stack, count)
    constants = values.constants(items) if count >= _FILLED else None
    if constants is not None and values.promised is not None and values.promised.any_order():
        items = (values.op("splat", (values.const(frozenset(constants)),)),)
    side.stack.append(new_fresh(pair, values, SET, items))
    return True


def _map_add(pair: Pair, side: Side, other: Side, values: Values, depth: int) -> bool:
    key, value = side.stack[-2:]
    if not _add_pair(pair, values, side.stack[-2 - depth], key, value):
        return False
    del side.stack[-2:]
    return True


def _merge(pair: Pair, side: Side, other: Side, values: Values, depth: int) -> bool:
    """``{**fresh}`` and ``f(**fresh)`` with constant keys that are new."""
    if not _joined(pair, values, side.stack[-1 - depth], side.stack[-1]):
        return copies_made(pair, side, values, depth)
    side.stack.pop()
    return True


def _joined(pair: Pair, values: Values, container: int, added: int) -> bool:
    source, inside = pair.fresh.get(added), pair.fresh.get(container)
    if source is None or inside is None or source[0] != DICT or inside[0] != DICT:
        return False
    if any(_has_key(values, inside[1][::2], key) for key in source[1][::2]):
        return False
    pair.fresh[container] = (DICT, inside[1] + source[1])
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

    The latter makes the exception being handled its ``__context__``, where that is another one; ``RERAISE`` would not.
    Where the text has to write it so, the verdict says what that assumes.
    """
    if count == 1 and side.program.side and not _raises(other):
        value = side.stack[-1]
        if not is_exception(values, value):
            return False
        side.program.again = side.program.again or value != side.cur
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
    """A string formats as itself; ``PLAIN_NOTE`` names what that assumes where only the recompiled code formats it."""
    known = values.desc[side.stack[-1]]
    if arg not in (("", False), ("s", False)) or known is None:
        return False
    if known == ("type", "str") and side.program.side and side.program.kind[side.pc - 1] == kinds.LOAD_TEMP:
        side.program.formats = True
    return known == ("type", "str") or known[0:2] == ("op", "str") or (known[0] == "const" and type(known[1]) is str)


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
    ops.BUILD_MAP: _build_map,
    ops.BUILD_CONST_KEY_MAP: _build_const_key_map,
    ops.BUILD_SET: _build_set,
    ops.SET_ADD: _set_add,
    ops.SET_UPDATE: _set_update,
    ops.MAP_ADD: _map_add,
    ops.DICT_UPDATE: _merge,
    ops.DICT_MERGE: _merge,
    ops.SET_FUNCTION_ATTRIBUTE: _set_function_attribute,
    ops.FORMAT: _format,
    ops.RAISE: _raise,
    ops.EXC_MATCH: _exc_match,
}
