"""What becomes of numbers that are passed to functions.

Input: a call, and what each of its arguments holds.  Output: what the result holds; uses are taken down.  Which
function is meant goes by its name (``known_calls.py``), unless the function that is read binds that name itself.
"""

from __future__ import annotations

import ast

from depyf.run.uses import known_calls as known
from depyf.run.uses.followed import Followed, is_text, path_of
from depyf.run.uses.held_values import Held
from depyf.run.uses.use_kinds import ValueUse

Arguments = list[tuple[str | None, ast.expr, Held]]
"""Keyword (None for one without), expression, what it holds."""


def of_builtin(walk: Followed, node: ast.Call, name: str, arguments: Arguments) -> Held:
    """What a call of ``name``, which the function does not bind, returns; its uses of the value are added to
    ``walk``."""
    held = [one for _, _, one in arguments]
    most = max(held, default=Held.OTHER)
    if name == "print":
        if most.followed:
            walk.use(ValueUse.LOG, node)
        return Held.OTHER
    if name == "range":
        if most.followed:
            walk.use(ValueUse.LOOP, node)
        return Held.PLAIN
    if name in known.ASKS:
        return Held.PLAIN
    if name in known.NUMBERS:
        if not most.followed:
            return Held.PLAIN
        inside = most in (Held.INSIDE, Held.VALUE)
        return Held.VALUE if inside and all(one in (Held.PLAIN, most) for one in held) else Held.MIXED
    if name in known.TEXTS:
        return Held.TEXT if most.followed else Held.OTHER
    if name in known.CONTAINERS:
        if not held or most in (Held.PLAIN, Held.FRESH):
            return Held.FRESH
        return Held.INSIDE if most.followed else Held.OTHER
    if name == "slice":
        return most
    if name == "setattr" and most.followed:
        walk.kept(most, node)
        return Held.OTHER
    return _by_last_name(walk, node, name, arguments)


def of_method(walk: Followed, node: ast.Call, func: ast.Attribute, base: Held, arguments: Arguments) -> Held:
    """What a call of the attribute ``func`` of ``base`` returns; its uses of the value are added to ``walk``."""
    held = [one for _, _, one in arguments]
    most = max(held, default=Held.PLAIN)
    module = path_of(func).partition(".")[0]
    if base is Held.TEXT or (func.attr in ("format", "join") and most.followed and is_text(func.value)):
        return Held.TEXT
    if base is Held.INSIDE and not most.followed:
        return Held.VALUE if func.attr in known.TAKES_OUT else Held.INSIDE
    if base is Held.VALUE and func.attr in ("conjugate", "is_integer", "bit_length"):
        return Held.VALUE
    if not most.followed and func.attr in known.MODULES:
        return Held.CODES
    if not most.followed:
        return Held.PLAIN if func.attr in known.NUMBERS_OF_TENSORS else Held.OTHER
    if module in known.NUMERIC_MODULES and module not in walk.bound:
        return most
    if func.attr in known.COLLECTS:
        walk.collected(func.value, most, node)
        return Held.OTHER
    if func.attr in ("get", "pop"):
        walk.use(ValueUse.KEY, node)
        return Held.OTHER
    if module == "torch" and module not in walk.bound:
        return _by_last_name(walk, node, func.attr, arguments, ValueUse.ARITHMETIC)
    if func.attr in known.LOGS:
        walk.use(ValueUse.LOG, node)
        return Held.OTHER
    return _by_last_name(walk, node, func.attr, arguments)


def _by_last_name(
    walk: Followed, node: ast.Call, name: str, arguments: Arguments, other: ValueUse | None = None
) -> Held:
    """A function of torch, or the method of a tensor; ``other``: the use of a number in one that is not known."""
    for number, (keyword, part, held) in enumerate(arguments):
        if not held.followed:
            continue
        fills = keyword in known.FILLED_IN or number >= known.COMPUTES_IN.get(name, len(arguments))
        if name in known.SIZES and not (fills and name in known.COMPUTES_IN):
            walk.use(ValueUse.SIZE, part)
        elif name in known.CONSTANTS:
            walk.use(ValueUse.CONSTANT, part)
        elif name in known.INDEXES:
            walk.use(ValueUse.INDEX, part)
        elif name in known.COMPUTES or name in known.SIZES:
            walk.use(ValueUse.ARITHMETIC, part)
        elif other is not None:
            walk.use(other, part)
        else:
            walk.passed(node, [held])
    return Held.OTHER
