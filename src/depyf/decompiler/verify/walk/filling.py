"""Silent steps that fill unescaped containers, where the keys are known well enough.

As in ``folds``: each takes the step and returns True, or leaves everything as it is and returns False.
"""

from __future__ import annotations

from depyf.decompiler.bytecode import ops
from depyf.decompiler.verify.relation.facts import (
    DICT,
    PLAIN_KEYS,
    SET,
    const_key_pairs,
    container_kind,
    new_fresh,
    plain_key,
    take,
)
from depyf.decompiler.verify.relation.values import Values
from depyf.decompiler.verify.state.proof_state import Pair, Side, resolve
from depyf.decompiler.verify.walk.wide import ITEMS, any_key

_FILLED = 3
"""From this many constants on the compiler fills a set display from one constant (3.9+)."""


def decided(pair: Pair, values: Values, items: tuple[int, ...]) -> tuple[int, ...]:
    """``items`` with the booleans that this path has decided: the other code may have branched to get a constant."""
    memo: dict[int, int] = {}
    return tuple([resolve(pair, values, item, memo) for item in items])


def grow(pair: Pair, side: Side, values: Values, depth: int, kind: tuple[object, ...], items: tuple[int, ...]) -> bool:
    """Add ``items`` to the fresh container ``depth`` below the top once the top is popped."""
    container = side.stack[-1 - depth]
    inside = pair.fresh.get(container)
    if inside is None or inside[0] != kind or len(inside[1]) > values.tracked:
        return False
    pair.fresh[container] = (kind, (*inside[1], *items))
    side.stack.pop()
    return True


def build_map(pair: Pair, side: Side, other: Side, values: Values, count: int) -> bool:
    stack = side.stack
    return _new_dict(pair, side, other, values, tuple(stack[len(stack) - 2 * count :]), 2 * count)


def build_const_key_map(pair: Pair, side: Side, other: Side, values: Values, count: int) -> bool:
    return _new_dict(pair, side, other, values, const_key_pairs(pair, values, side.stack, count), count + 1)


def _new_dict(pair: Pair, side: Side, other: Side, values: Values, items: tuple[int, ...], pops: int) -> bool:
    if pair.facts:
        items = decided(pair, values, items)
    keys = items[::2]
    plain = all(plain_key(values, key) for key in keys)
    if not plain or len({values.desc[key][1] for key in keys}) != len(keys):  # type: ignore[index]
        if not any_key(pair, side, other, values, len(keys)):
            return False
    del side.stack[len(side.stack) - pops :]
    side.stack.append(new_fresh(pair, values, DICT, items))
    return True


def map_add(pair: Pair, side: Side, other: Side, values: Values, depth: int) -> bool:
    key, value = side.stack[-2:]
    if not add_pair(pair, side, other, values, side.stack[-2 - depth], key, value):
        return False
    del side.stack[-2:]
    return True


def add_pair(pair: Pair, side: Side, other: Side, values: Values, container: int, key: int, value: int) -> bool:
    """``container[key] = value`` for a fresh dict and a new constant key."""
    inside = pair.fresh.get(container)
    if inside is None or inside[0] != DICT or len(inside[1]) > 2 * values.tracked:
        return False
    if not _is_new_key(values, inside[1][::2], key) and not any_key(pair, side, other, values, into=container):
        return False
    pair.fresh[container] = (DICT, (*inside[1], key, value))
    return True


def _is_new_key(values: Values, keys: tuple[int, ...], key: int) -> bool:
    """Whether ``key`` is a constant, and ``keys`` are others."""
    if not plain_key(values, key):
        return False
    wanted = values.desc[key][1]  # type: ignore[index]
    return all(plain_key(values, k) and values.desc[k][1] != wanted for k in keys)  # type: ignore[index]


def merge(pair: Pair, side: Side, other: Side, values: Values, depth: int) -> bool:
    """``{**fresh}`` and ``f(**fresh)`` with constant keys that are new."""
    if not joined(pair, side, other, values, side.stack[-1 - depth], side.stack[-1]):
        return copies_made(pair, side, other, values, depth)
    side.stack.pop()
    return True


def joined(pair: Pair, side: Side, other: Side, values: Values, container: int, added: int) -> bool:
    source, inside = pair.fresh.get(added), pair.fresh.get(container)
    if source is None or inside is None or source[0] != DICT or inside[0] != DICT:
        return False
    keys = inside[1][::2]
    if not all(_is_new_key(values, keys, key) for key in source[1][::2]) and not any_key(
        pair, side, other, values, into=container
    ):
        return False
    pair.fresh[container] = (DICT, inside[1] + source[1])
    return True


def build_set(pair: Pair, side: Side, other: Side, values: Values, count: int) -> bool:
    items = tuple(side.stack[len(side.stack) - count :])
    if pair.facts:
        items = decided(pair, values, items)
    plain = all(plain_key(values, item) for item in items)
    if not plain and not any_key(pair, side, other, values, count):
        return False
    take(side.stack, count)
    promised = values.promised
    at_once = count >= _FILLED and not (count > ITEMS and promised is not None and promised.one_by_one)
    constants = values.constants(items) if plain and at_once else None
    if constants is not None and promised is not None and promised.any_order():
        items = (values.op("splat", (values.const(frozenset(constants)),)),)
    side.stack.append(new_fresh(pair, values, SET, items))
    return True


def set_add(pair: Pair, side: Side, other: Side, values: Values, depth: int) -> bool:
    if not plain_key(values, side.stack[-1]) and not (
        side.stack[-1 - depth] in pair.fresh and any_key(pair, side, other, values, into=side.stack[-1 - depth])
    ):
        return False
    return grow(pair, side, values, depth, SET, (side.stack[-1],))


def set_update(pair: Pair, side: Side, other: Side, values: Values, depth: int) -> bool:
    known = values.desc[side.stack[-1]]
    if known == ("const", ()) and container_kind(pair, values, side.stack[-1 - depth]) == "set":
        side.stack.pop()  # an empty set is written {*()}
        return True
    if known is None or known[0] != "const" or type(known[1]) is not frozenset:
        return False
    if not all(type(item) in PLAIN_KEYS for item in known[1]):
        return False
    return grow(pair, side, values, depth, SET, (values.op("splat", (side.stack[-1],)),))


def copies_made(pair: Pair, side: Side, other: Side, values: Values, depth: int) -> bool:
    """Take the merge before which the recompiled code stands as such a copy, if the original does not make it."""
    stack, program = side.stack, side.program
    made, into = stack[-1], stack[-1 - depth]
    if not program.side or program.instrs[side.pc - 1].op != ops.BUILD_MAP:
        return False
    if values.desc[made] != ("type", "dict") or pair.fresh.get(into) != (DICT, ()):
        return False
    if other.pc >= 0 and other.program.instrs[other.pc].op == ops.DICT_MERGE and other.stack[-1] == made:
        return False
    held = {*pair.temps.values(), *pair.loc.values()}
    if stack.count(made) != 1 or stack.count(into) != 1 or held & {made, into}:
        return False
    if any(instr.target == side.pc for instr in program.instrs):
        return False
    stack[-1 - depth] = made
    stack.pop()
    return True
