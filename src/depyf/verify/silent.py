"""The steps one side takes alone: everything between two observable operations.

``advance`` runs one side until it stands before an observable operation, wants to branch on an undecided boolean
(``side.split``), leaves the frame with an exception (``pc == -1``), or runs in a circle (``side.split == CIRCLE``).
"""

from __future__ import annotations

from collections.abc import Callable

from depyf.bytecode import ops
from depyf.verify import kinds
from depyf.verify.program import Program
from depyf.verify.state import Pair, Side, resolve
from depyf.verify.values import Values

CIRCLE = -2


class Mismatch(Exception):
    """The two sides differ; ``pc`` is the original instruction the difference was found at."""

    def __init__(self, reason: str, pc: int = -1) -> None:
        super().__init__(reason)
        self.reason = reason
        self.pc = pc


class LifetimeMismatch(Mismatch):
    """The two sides do the same things, but keep different objects alive."""


def advance(pair: Pair, side: Side, other: Side, values: Values) -> int:
    """Run ``side`` to its next event; how many instructions that took."""
    program = side.program
    kind_of, arg_of, target_of, join = program.kind, program.arg, program.target, program.join
    stack, dirty, loc = side.stack, side.dirty, pair.loc
    always = program.always
    desc = values.desc
    pc = side.pc
    side.split = -1
    limit = program.count + 8
    steps = 0
    while pc >= 0:
        steps += 1
        if steps > limit:
            side.split = CIRCLE
            break
        if join[pc]:
            side.joined = True
        kind = kind_of[pc]
        if kind == kinds.LOAD_FAST:
            name = arg_of[pc]
            value = dirty.get(name)
            if value is None:
                value = loc.get(name)
                if value is None:
                    if name not in always and not bound_now(program, pc, side, other, name):
                        break
                    value = values.new()
                    pair.bind(name, value)
            known = desc[value]
            if known is not None and (known[0] == "maybe" or known[0] == "mark"):
                if known[0] == "mark" or not bound_now(program, pc, side, other, name):
                    break
            stack.append(value)
        elif kind == kinds.LOAD_CONST:
            stack.append(arg_of[pc])
        elif kind == kinds.STORE_FAST:
            dirty[arg_of[pc]] = stack.pop()
        elif kind == kinds.POP:
            stack.pop()
        elif kind == kinds.NULL:
            stack.append(values.null)
        elif kind == kinds.JUMP:
            pc = target_of[pc]
            continue
        elif kind == kinds.COPY:
            stack.append(stack[-arg_of[pc]])
        elif kind == kinds.SWAP:
            at = -arg_of[pc]
            stack[-1], stack[at] = stack[at], stack[-1]
        elif kind == kinds.ROT:
            stack.insert(len(stack) - arg_of[pc], stack.pop())
        elif kind == kinds.BUILD_TUPLE:
            count = arg_of[pc]
            items = tuple(stack[len(stack) - count :])
            del stack[len(stack) - count :]
            stack.append(values.tuple_of(items))
        elif kind == kinds.LOAD_TEMP:
            value = pair.temps.get(arg_of[pc])
            if value is None or value == values.unbound or desc[value] == ("maybe",):
                raise Mismatch(f"{program.describe(pc)}: the temporary {arg_of[pc]} may be unbound", other.pc)
            stack.append(value)
        elif kind == kinds.STORE_TEMP:
            pair.temps[arg_of[pc]] = stack.pop()
        elif kind == kinds.DELETE_TEMP:
            value = pair.temps.pop(arg_of[pc], None)
            if value is None or value == values.unbound or desc[value] == ("maybe",):
                raise Mismatch(f"{program.describe(pc)}: the temporary {arg_of[pc]} may be unbound", other.pc)
        elif kind <= kinds.BRANCH_NOT_NONE:
            taken = _decide(pair, side, values, kind, stack[-1])
            if taken is None:
                break
            stack.pop()
            if taken:
                pc = target_of[pc]
                continue
        elif kind == kinds.RARE:
            side.pc = pc
            moved = RARE[program.instrs[pc].op](pair, side, values, arg_of[pc])
            if moved is not None:
                pc = moved
                continue
        elif kind == kinds.FOLD:
            side.pc = pc
            if not FOLDS[program.instrs[pc].op](pair, side, other, values, arg_of[pc]):
                break
            if side.pc != pc:
                pc = side.pc
                continue
        else:
            break
        pc += 1
    side.pc = pc
    return steps


def bound_now(program: Program, pc: int, side: Side, other: Side, name: str) -> bool:
    """Whether a user local without known value is surely bound, by the data flow of either side."""
    if program.surely_bound(pc, name):
        return True
    return name not in side.dirty and name not in other.dirty and other.program.surely_bound(other.pc, name)


def _decide(pair: Pair, side: Side, values: Values, kind: int, value: int) -> bool | None:
    """Whether the branch is taken; None where it is an event (a truth test) or undecided (``side.split``)."""
    if kind == kinds.BRANCH_TRUE or kind == kinds.BRANCH_FALSE:
        truth = truth_of(pair, values, value)
        if truth is None:
            if pair.alias or pair.facts:
                value = resolve(pair, values, value, {})
                truth = truth_of(pair, values, value)
            if truth is None and values.is_bool(value):
                truth = _decided(pair, side, values, value)
        return None if truth is None else truth == (kind == kinds.BRANCH_TRUE)
    none = is_none(pair, values, value)
    if none is None:
        if pair.alias or pair.facts:
            value = resolve(pair, values, value, {})
        none = _decided(pair, side, values, identity(values, value, values.none))
    return None if none is None else none == (kind == kinds.BRANCH_NONE)


def _decided(pair: Pair, side: Side, values: Values, value: int) -> bool | None:
    """The truth this path has already settled for a boolean, else a request to split on it."""
    base, flip = plain_bool(values, value)
    fact = pair.facts.get(base)
    if fact is None:
        side.split = base
        return None
    return (fact == values.true) != flip


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
        return None if _splats(values, inside[1]) else bool(inside[1])
    return values.truth(value)


def _splats(values: Values, items: tuple[int, ...]) -> bool:
    return any((known := values.desc[item]) is not None and known[0:2] == ("op", "splat") for item in items)


def is_none(pair: Pair, values: Values, value: int) -> bool | None:
    if value == values.none:
        return True
    if value in pair.fresh or values.never_none(value):
        return False
    return None


def identity(values: Values, left: int, right: int) -> int:
    """``left is right`` as a value."""
    if left == right and not _plain_const(values, left):
        return values.true
    if left > right:
        left, right = right, left
    return values.op("is", (left, right))


def _plain_const(values: Values, value: int) -> bool:
    """A constant whose identity is not settled by its value."""
    known = values.desc[value]
    return known is not None and (
        (known[0] == "const" and known[1] is not None and type(known[1]) not in (bool, type(Ellipsis)))
        or (known[0] == "op" and known[1] not in ("cell", "common", "locals"))
    )


def elements(pair: Pair, values: Values, value: int) -> tuple[int, ...] | None:
    """The elements of a known tuple or of a list nobody else has seen."""
    inside = pair.fresh.get(value)
    if inside is not None:
        return inside[1] if inside[0] == LIST else None
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
"""Growing a container past this many elements is an event: following it further would cost quadratic time."""


def new_fresh(pair: Pair, values: Values, kind: tuple[object, ...], items: tuple[int, ...]) -> int:
    value = values.new()
    pair.fresh[value] = (kind, items)
    return value


# Silent operations that are rare.  Each returns the next pc, or None for the one after.


def _load_closure(pair: Pair, side: Side, values: Values, arg: str) -> None:
    side.stack.append(values.op("cell", (arg, pair.epoch)))


def _load_locals(pair: Pair, side: Side, values: Values, arg: None) -> None:
    side.stack.append(values.op("locals", ()))


def _load_common(pair: Pair, side: Side, values: Values, arg: str) -> None:
    side.stack.append(values.op("common", (arg,)))


def _build_list(pair: Pair, side: Side, values: Values, count: int) -> None:
    side.stack.append(new_fresh(pair, values, LIST, take(side.stack, count)))


def _build_string(pair: Pair, side: Side, values: Values, count: int) -> None:
    side.stack.append(values.string_of(take(side.stack, count)))


def _build_slice(pair: Pair, side: Side, values: Values, count: int) -> None:
    side.stack.append(values.slice_of(take(side.stack, count)))


def _is(pair: Pair, side: Side, values: Values, arg: str) -> None:
    left, right = take(side.stack, 2)
    if pair.alias or pair.facts:
        memo: dict[int, int] = {}
        left, right = resolve(pair, values, left, memo), resolve(pair, values, right, memo)
    result = -1
    for value, against in ((left, right), (right, left)):
        if against == values.none:
            none = is_none(pair, values, value)
            if none is not None:
                result = values.true if none else values.false
    if result < 0:
        result = identity(values, left, right)
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
    value = side.stack.pop()
    side.dirty[name] = values.unbound if value == values.null else value


def _push_exc_info(pair: Pair, side: Side, values: Values, arg: None) -> None:
    side.stack.insert(len(side.stack) - 1, side.cur)
    side.cur = side.stack[-1]


def _pop_except(pair: Pair, side: Side, values: Values, count: int) -> None:
    slots = take(side.stack, count)
    side.cur = slots[0] if count == 1 else slots[1]


def _reraise(pair: Pair, side: Side, values: Values, arg: int) -> int:
    return throw(side, values, exception_of(values, side.stack[-1]))


def exception_of(values: Values, value: int) -> int:
    """The exception behind the top slot: before 3.11 that slot is its type."""
    known = values.desc[value]
    if known is not None and known[0:2] == ("op", "type of"):
        found: int = known[2][0]
        return found
    return value


def throw(side: Side, values: Values, exc: int) -> int:
    """Unwind ``side`` to the handler of the instruction it stands at; the new pc, -1 outside the frame."""
    program = side.program
    index = program.handler[side.pc]
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
        elif slot == "old_value":
            stack.append(old)
        else:
            stack.append(values.op("type of" if slot.endswith("type") else "tb of", (old if "old" in slot else exc,)))
    if "old_value" in pushes:
        side.cur = exc


def _make_function(pair: Pair, side: Side, values: Values, extras: tuple[str, ...]) -> None:
    items = take(side.stack, len(extras) + 1)
    side.stack.append(new_fresh(pair, values, ("function", *extras), (items[-1], *items[:-1])))


def _match_type(tag: str) -> Callable[[Pair, Side, Values, None], None]:
    def step(pair: Pair, side: Side, values: Values, arg: None) -> None:
        side.stack.append(values.op(tag, (side.stack[-1],)))

    return step


def take(stack: list[int], count: int) -> tuple[int, ...]:
    """Pop ``count`` slots, bottom to top."""
    at = len(stack) - count
    items = tuple(stack[at:])
    del stack[at:]
    return items


RARE: dict[str, Callable[..., int | None]] = {
    ops.LOAD_CLOSURE: _load_closure,
    ops.LOAD_LOCALS: _load_locals,
    ops.LOAD_COMMON: _load_common,
    ops.BUILD_LIST: _build_list,
    ops.BUILD_STRING: _build_string,
    ops.BUILD_SLICE: _build_slice,
    ops.IS: _is,
    ops.LOAD_FAST_CLEAR: _load_fast_clear,
    ops.RESTORE_FAST: _restore_fast,
    ops.PUSH_EXC_INFO: _push_exc_info,
    ops.POP_EXCEPT: _pop_except,
    ops.RERAISE: _reraise,
    ops.MAKE_FUNCTION: _make_function,
    ops.MATCH_MAPPING: _match_type("mapping?"),
    ops.MATCH_SEQUENCE: _match_type("sequence?"),
}


# Operations that are silent on operands that are known well enough.  Each returns whether it was.


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
    result = _known_attribute(pair, side, values, name)
    if result < 0:
        return False
    side.stack[-1] = result
    return True


def _load_method(pair: Pair, side: Side, other: Side, values: Values, name: str) -> bool:
    result = _known_attribute(pair, side, values, name)
    if result < 0:
        return False
    side.stack[-1] = result
    side.stack.append(values.method)
    return True


def _known_attribute(pair: Pair, side: Side, values: Values, name: str) -> int:
    """An attribute whose lookup is silent: the closure of a new function, methods of exact containers."""
    value = side.stack[-1]
    inside = pair.fresh.get(value)
    if inside is not None and name == "__closure__" and "closure" in inside[0]:
        return inside[1][inside[0].index("closure")]
    kind = container_kind(pair, values, value)
    if kind is not None and (kind, name) in CONTAINER_METHODS:
        return values.op(f"bound {name}", (value,))
    return -1


CONTAINER_METHODS = {
    ("list", "append"): ops.LIST_APPEND,
    ("list", "extend"): ops.LIST_EXTEND,
    ("set", "add"): ops.SET_ADD,
    ("set", "update"): ops.SET_UPDATE,
}


def container_kind(pair: Pair, values: Values, value: int) -> str | None:
    """``"list"``, ``"dict"`` or ``"set"`` for an object of exactly that type."""
    inside = pair.fresh.get(value)
    if inside is not None:
        return str(inside[0][0])
    known = values.desc[pair.alias.get(value, value)]
    if known is not None and known[0] == "type" and known[1] in ("list", "dict", "set"):
        return str(known[1])
    return None


def _call(pair: Pair, side: Side, other: Side, values: Values, arg: ops.CallShape) -> bool:
    """``fresh_list.append(x)`` and ``fresh_list.extend(known)``."""
    slots, count, keywords = arg
    if count != 1 or keywords:
        return False
    stack = side.stack
    at = len(stack) - 1 - slots
    method = bound_method(values, stack[at]) or bound_method(values, stack[at + slots - 1])
    if method is None or method[0] not in ("append", "extend") or method[1] not in pair.fresh:
        return False
    added = (stack[-1],) if method[0] == "append" else elements(pair, values, stack[-1])
    kind, items = pair.fresh[method[1]]
    if added is None or kind != LIST or len(items) > MAX_TRACKED:
        return False
    pair.fresh[method[1]] = (kind, (*items, *added))
    del stack[at:]
    stack.append(values.none)
    return True


def bound_method(values: Values, value: int) -> tuple[str, int] | None:
    known = values.desc[value]
    if known is None or known[0] != "op" or not known[1].startswith("bound "):
        return None
    return known[1][len("bound ") :], known[2][0]


def _subscr(pair: Pair, side: Side, other: Side, values: Values, arg: None) -> bool:
    container, key = side.stack[-2:]
    items = elements(pair, values, container)
    if items is None or _splats(values, items):
        return False
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
    known = values.desc[key]
    if inside is None or inside[0] != LIST or _splats(values, inside[1]) or known is None or known[0] != "const":
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
        if source is None or _splats(values, source):
            return False
        items[index] = source
    else:
        items[index] = value
    if len(items) > MAX_TRACKED:
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
    if inside is None or inside[0] != DICT or not plain_key(values, key) or len(inside[1]) > MAX_TRACKED:
        return False
    if _has_key(values, inside[1][::2], key):
        return False
    pair.fresh[container] = (DICT, (*inside[1], key, value))
    return True


def plain_key(values: Values, key: int) -> bool:
    """A constant that hashes and compares without running code."""
    known = values.desc[key]
    return known is not None and known[0] == "const" and type(known[1]) in PLAIN_KEYS


PLAIN_KEYS = frozenset({str, int, bytes, bool, type(None), float})


def _has_key(values: Values, keys: tuple[int, ...], key: int) -> bool:
    wanted = values.desc[key][1]  # type: ignore[index]
    return any(values.desc[k][1] == wanted for k in keys)  # type: ignore[index]


def _operator(name: str, count: int) -> Callable[[Pair, Side, Side, Values, str], bool]:
    def step(pair: Pair, side: Side, other: Side, values: Values, arg: str) -> bool:
        result = values.fold(name, arg, tuple(side.stack[-count:]))
        if result is None:
            return False
        del side.stack[-count:]
        side.stack.append(result)
        return True

    return step


def _unary(pair: Pair, side: Side, other: Side, values: Values, arg: str) -> bool:
    value = side.stack[-1]
    if arg != "not":
        result = values.fold("UNARY", arg, (value,))
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
    return _grow(pair, side, depth, LIST, (side.stack[-1],))


def _list_extend(pair: Pair, side: Side, other: Side, values: Values, depth: int) -> bool:
    items = elements(pair, values, side.stack[-1])
    return items is not None and _grow(pair, side, depth, LIST, items)


def _set_add(pair: Pair, side: Side, other: Side, values: Values, depth: int) -> bool:
    return plain_key(values, side.stack[-1]) and _grow(pair, side, depth, SET, (side.stack[-1],))


def _set_update(pair: Pair, side: Side, other: Side, values: Values, depth: int) -> bool:
    known = values.desc[side.stack[-1]]
    if known is None or known[0] != "const" or type(known[1]) is not frozenset:
        return False
    if not all(type(item) in PLAIN_KEYS for item in known[1]):
        return False
    return _grow(pair, side, depth, SET, (values.op("splat", (side.stack[-1],)),))


def _grow(pair: Pair, side: Side, depth: int, kind: tuple[object, ...], items: tuple[int, ...]) -> bool:
    """Add ``items`` to the fresh container ``depth`` below the top once the top is popped."""
    container = side.stack[-1 - depth]
    inside = pair.fresh.get(container)
    if inside is None or inside[0] != kind or len(inside[1]) > MAX_TRACKED:
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


def const_key_pairs(pair: Pair, values: Values, stack: list[int], count: int) -> tuple[int, ...]:
    """The operands of ``BUILD_CONST_KEY_MAP`` in the order of ``BUILD_MAP``."""
    keys = elements(pair, values, stack[-1]) or ()
    found = stack[len(stack) - 1 - count : -1]
    return tuple([item for both in zip(keys, found) for item in both])


def _new_dict(pair: Pair, side: Side, values: Values, items: tuple[int, ...], pops: int) -> bool:
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
    if not all(plain_key(values, item) for item in items):
        return False
    take(side.stack, count)
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
    source = pair.fresh.get(side.stack[-1])
    container = side.stack[-1 - depth]
    inside = pair.fresh.get(container)
    if source is None or inside is None or source[0] != DICT or inside[0] != DICT:
        return False
    if any(_has_key(values, inside[1][::2], key) for key in source[1][::2]):
        return False
    pair.fresh[container] = (DICT, inside[1] + source[1])
    side.stack.pop()
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
    """A bare ``raise`` in a handler raises the handled exception again."""
    if count or side.cur == values.outer_exc:
        return False
    known = values.desc[side.cur]
    if known is None or known != ("type", "exception"):
        return False
    side.pc = throw(side, values, side.cur)
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
    ops.RAISE: _raise,
}
