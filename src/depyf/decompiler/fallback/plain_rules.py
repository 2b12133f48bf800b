"""Rules of plain lifting for operations that ordinary lifting treats differently, or not at all.

``apply`` is asked first for each instruction; where it answers False the ordinary rule is right.  Every rule leaves the
values that statements must keep in temporaries, so that any order of operations has a text:

    LIST_EXTEND     __temp_0.extend(x)              where the list was made in another block
    DICT_UPDATE     __temp_0.update({**x})          ``update`` alone takes more than a mapping
    DICT_MERGE      f(**__temp_0, **x)              keyword arguments that were begun in another block
    FOR_ITER        for __temp_1 in __temp_0: break; else: more = False
    GET_AWAITABLE   await (__temp_0, __temp_0 := None)[0]       what is awaited may be released before that is done
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from depyf.decompiler.bytecode import ops
from depyf.decompiler.fallback import explicit_tests
from depyf.decompiler.ir.expr import (
    Attr,
    Const,
    DictOf,
    Display,
    Expr,
    Fmt,
    Func,
    Invoke,
    Purpose,
    Star,
    Sub,
    Taken,
    Temp,
)
from depyf.decompiler.ir.markers import Caught, Marker, NullSlot
from depyf.decompiler.ir.stmt import Assign, Break, ExprStmt, For, Raise
from depyf.decompiler.ir.walk_expr import walk_own
from depyf.decompiler.lift.rules import container_rules, generics
from depyf.decompiler.lift.rules.table import RULES
from depyf.decompiler.lift.stack_values import IterOf
from depyf.errors import DecompilationError

if TYPE_CHECKING:
    from depyf.decompiler.fallback.plain import PlainSymbolic

_FOLDED = {ops.UNARY: 1, ops.BINARY: 2, ops.SUBSCR: 2}
"""Operators that the compiler runs where it knows the operands, and how many they are."""
_SUBSCRIBING = frozenset({ops.SUBSCR, ops.STORE_SUBSCR, ops.DELETE_SUBSCR})
_FORMATTING = frozenset({ops.FORMAT, ops.BUILD_INTERPOLATION})
_ADDING = {ops.LIST_APPEND: "append", ops.SET_ADD: "add", ops.MAP_ADD: ""}


def apply(s: PlainSymbolic, container: int) -> bool:
    """Lift the instruction that ``s`` stands at; False leaves it to the ordinary rule."""
    op, arg = s.instr.op, s.instr.arg
    rule = _RULES.get(op)
    return rule is not None and rule(s, arg, container)


def _underflow(s: PlainSymbolic) -> DecompilationError:
    return DecompilationError("stack underflow", s.program.unit.qualname, s.instr.offset)


def _copy(s: PlainSymbolic, n: int, _: int) -> bool:
    if n > len(s.stack):
        raise _underflow(s)
    s.copying = True
    if not s.atomic(s.stack[-n]):
        s.spill()
    s.copying = False
    s.stack.append(s.stack[-n])
    return True


def _swap(s: PlainSymbolic, n: int, _: int) -> bool:
    """A constant changes places with any value, and so does the hidden function of type parameters with the defaults
    that are passed to it (3.12+): what is computed later need not be computed before."""
    stack = s.stack
    if n > len(stack):
        return False
    hidden = any(isinstance(value, Func) and value.unit.name.startswith(generics.HIDDEN) for value in stack[-3:])
    if not hidden and not (n == 2 and isinstance(stack[-2], Const)):
        return False
    stack[-1], stack[-n] = stack[-n], stack[-1]
    return True


def _enter(s: PlainSymbolic, slots: int, _: int) -> bool:
    """A manager in a separate temporary, written ``Star``, is dropped at the start of the body."""
    if s.values_only:
        return explicit_tests.enter_manager(s, slots or 1)
    s.fix(len(s.stack) - 1)  # nothing may stand between the manager and the body
    manager = s.stack[-1]
    if isinstance(manager, Temp) and not any(manager.key in s.inside(value) for value in s.stack[:-1]):
        s.stack[-1] = Star(manager)
    RULES[s.instr.op](s, slots)
    s.consumed.clear()
    return True


def _innermost_handler(s: PlainSymbolic, container: int) -> int:
    """The region of the handler that control is in."""
    tree = s.containers.tree
    while container > 0 and tree[container].kind != "handler":
        container = tree[container].parent
    return tree[container].region


def _pop_except(s: PlainSymbolic, _: object, container: int) -> bool:
    """A handled exception has its name in the handler only: what uses it after that needs a temporary."""
    tree, inside = s.containers.tree, list[int]()
    while container > 0:
        if tree[container].kind == "handler":
            inside.append(tree[container].region)
        container = tree[container].parent
    kept = s.containers.regions.after_pop(s.at, tuple(reversed(inside))) if inside else ()
    left = inside[: len(inside) - len(kept)]
    for i, value in enumerate(s.stack):
        if isinstance(value, Caught) and value.region in left:
            temp = s.new_temp()
            s.stmts.append(Assign((temp,), value, s.instr.line))
            s.stack[i] = temp
    return False


def _is_handled(s: PlainSymbolic, depth: int, container: int) -> bool:
    """Whether a bare ``raise`` raises what is in the slot ``depth`` from the top: the innermost caught exception."""
    value = s.stack[-depth]
    if isinstance(value, Caught) and value.region is not None:
        return _innermost_handler(s, container) == value.region
    if not isinstance(value, Temp):
        return True
    return s.caught.holds(s.at, depth, _innermost_handler(s, container))


def _exc_match(s: PlainSymbolic, kind: object, container: int) -> bool:
    if not s.values_only or len(s.stack) < 2:
        return False
    return explicit_tests.match_exception(s, kind, _is_handled(s, 2, container))


def _except_start(s: PlainSymbolic, depth: int, _: int) -> bool:
    return s.values_only and explicit_tests.call_exit(s, depth)


def _match_kind(s: PlainSymbolic, _: object, __: int) -> bool:
    return s.values_only and explicit_tests.match_kind(s)


def _length(s: PlainSymbolic, _: object, __: int) -> bool:
    return s.values_only and explicit_tests.length(s)


def _reraise(s: PlainSymbolic, _: object, container: int) -> bool:
    """``raise`` with a name, unless the innermost handler caught the exception; pending values are computed first."""
    if _is_handled(s, 1, container):
        s.spill()
        return False
    s.emit(Raise(s.pop(), None, s.instr.line))
    return True


def _add(s: PlainSymbolic, depth: int, _: int) -> bool:
    """``list.append`` and the like, on the temporary of a container; a display after a star goes on."""
    op = s.instr.op
    if container_rules.marks_annotation(s, op, depth):
        return False
    into = s.stack[-depth - 1] if depth < len(s.stack) else None
    if isinstance(into, Display) and any(isinstance(item, Star) for item in into.elts):
        return False
    value = s.pop()
    key = s.pop() if op == ops.MAP_ADD else None
    if depth > len(s.stack):
        raise _underflow(s)
    if not isinstance(s.stack[-depth], (Temp, Marker)):
        s.stack.extend([value] if key is None else [key, value])
        s.spill()
        value = s.pop()
        key = s.pop() if key is not None else None
    container = s.stack[-depth]
    if not isinstance(container, Temp):
        raise DecompilationError("a comprehension on the stack", s.program.unit.qualname, s.instr.offset)
    if key is not None and not s.atomic(key):
        s.stack.append(key)  # an assignment evaluates the value first
        s.spill()
        key = s.pop()
    if key is not None:
        s.emit(Assign((Sub(container, key),), value, s.instr.line))
    else:
        s.emit(ExprStmt(Invoke(Attr(container, _ADDING[op]), (value,)), s.instr.line))
    return True


def _update(s: PlainSymbolic, depth: int, _: int) -> bool:
    """``DICT_UPDATE`` of a dict that was made in another block; ``{**x}`` calls the same methods of ``x``."""
    if depth >= len(s.stack):
        raise _underflow(s)
    if not isinstance(s.stack[-depth - 1], Temp):
        return False
    items = s.pop()
    s.spill()
    merged = DictOf(((None, items),))
    s.emit(ExprStmt(Invoke(Attr(s.stack[-depth], "update"), (merged,)), s.instr.line))
    return True


def _merge(s: PlainSymbolic, depth: int, _: int) -> bool:
    """``DICT_MERGE`` into a dict that was begun in another block: a call that unpacks both copies it first, which is
    not observable."""
    if depth >= len(s.stack):
        raise _underflow(s)
    begun = s.stack[-depth - 1]
    if not isinstance(begun, Temp):
        return _take(s, 1)
    _take(s, 1)
    items = s.pop()
    s.stack[-depth] = DictOf(((None, begun), (None, items)), True)
    return True


def temporaries(value: Expr) -> list[Temp]:
    """The temporaries in a value, as often as they are read."""
    return [part for part in walk_own((value,)) if isinstance(part, Temp)]


def _take(s: PlainSymbolic, count: int) -> bool:
    """Of the uppermost values each temporary that nothing else needs is emptied where it is read: the operation
    releases what it takes before the statement is done."""
    if count > len(s.stack):
        raise _underflow(s)
    at = len(s.stack) - count
    inside = [temp.key for value in s.stack[at:] for temp in temporaries(value)]
    below = [s.inside(value) for value in s.stack[:at]]

    def taken(value: Expr) -> Expr:
        if not isinstance(value, Temp) or inside.count(value.key) > 1 or any(value.key in held for held in below):
            return value
        return Taken(value)

    for i, value in enumerate(s.stack[at:], at):
        if isinstance(value, Display):
            s.stack[i] = Display(value.kind, tuple(map(taken, value.elts)))
        else:
            s.stack[i] = taken(value)
    return False


def _take_one(s: PlainSymbolic, _: object, __: int) -> bool:
    return _take(s, 1)


def _build_unpack(s: PlainSymbolic, shape: tuple[str, int], _: int) -> bool:
    """3.8: what a call unpacks is released when it has been joined."""
    return shape[0].startswith("call_") and _take(s, shape[1])


def _compute(s: PlainSymbolic, arg: object, _: int) -> bool:
    """Operators on constants alone: the compiler must not run them."""
    count = _FOLDED[s.instr.op]
    if not all(isinstance(value, Const) for value in s.stack[-count:]):
        return False
    at = len(s.stack) - count
    temp = s.new_temp()
    s.stmts.append(Assign((temp,), s.stack[at], s.instr.line))
    s.stack[at] = temp
    return False


def _list_to_tuple(s: PlainSymbolic, _: object, __: int) -> bool:
    if not isinstance(s.stack[-1], Temp):
        return False
    s.push(Invoke(Const(tuple), (s.pop(),)))
    return True


def _convert(s: PlainSymbolic, conversion: str, _: int) -> bool:
    """``f"{x!r}"``: the string that a conversion gives is formatted as itself, which the verdict says."""
    if s.instr_after().op in _FORMATTING:
        return False
    s.push(Fmt(s.pop(), conversion, None))
    return True


def _build_slice(s: PlainSymbolic, count: int, _: int) -> bool:
    """A slice that is not subscribed with at once is a value; a call of the builtin names it."""
    if not s.values_only or s.instr_after().op in _SUBSCRIBING or len(s.stack) < count:
        return False
    s.push(Invoke(Const(slice), tuple(s.pops(count))))
    return True


def _get_iter(s: PlainSymbolic, slots: int, _: int) -> bool:
    if not s.steps:
        return False
    s.push(Invoke(Const(builtins.iter), (s.pop(),)))
    for _slot in range((slots or 1) - 1):
        s.push(NullSlot())
    return True


def _for_iter(s: PlainSymbolic, slots: int, _: int) -> bool:
    if not s.steps:
        return False
    stack, line, slots = s.stack, s.instr.line, slots or 1
    s.spill()
    item = Temp(len(stack))
    _vacate(s, item)
    iterator = stack[-slots]
    if isinstance(iterator, (Marker, IterOf)):
        raise DecompilationError("iteration over no value", s.program.unit.qualname, s.instr.offset)
    more = Temp(0, Purpose.MORE)
    s.stmts.append(Assign((more,), Const(True), line))
    exhausted = Assign((more,), Const(False), line)
    s.stmts.append(For(item, iterator, (Break(line),), (exhausted,), False, line))
    s.block.cond = more
    s.block.steps = slots
    return True


def _vacate(s: PlainSymbolic, slot: Temp) -> None:
    """Make the temporary of a stack position free: what it holds moves on to a new one."""

    def inside(value: Expr) -> bool:
        return slot.key in s.inside(value)

    if any(inside(value) for value in s.stack):
        new = s.new_temp()
        s.stmts.append(Assign((new,), slot, s.instr.line))
        s.stack[:] = [new if isinstance(v, Temp) and v.key == slot.key else v for v in s.stack]
        if any(inside(value) for value in s.stack):
            raise DecompilationError("a slot is part of a value", s.program.unit.qualname, s.instr.offset)


_RULES: dict[str, Callable[[PlainSymbolic, Any, int], bool]] = {
    ops.COPY: _copy,
    ops.SWAP: _swap,
    ops.BEFORE_WITH: _enter,
    ops.BEFORE_ASYNC_WITH: _enter,
    ops.POP_EXCEPT: _pop_except,
    ops.RERAISE: _reraise,
    ops.MATCH_SEQUENCE: _match_kind,
    ops.MATCH_MAPPING: _match_kind,
    ops.GET_LEN: _length,
    ops.EXC_MATCH: _exc_match,
    ops.WITH_EXCEPT_START: _except_start,
    ops.LIST_APPEND: _add,
    ops.SET_ADD: _add,
    ops.MAP_ADD: _add,
    ops.DICT_UPDATE: _update,
    ops.DICT_MERGE: _merge,
    ops.UNARY: _compute,
    ops.BINARY: _compute,
    ops.SUBSCR: _compute,
    ops.LIST_TO_TUPLE: _list_to_tuple,
    ops.BUILD_SLICE: _build_slice,
    ops.CONVERT: _convert,
    ops.GET_ITER: _get_iter,
    ops.FOR_ITER: _for_iter,
    ops.GET_AITER: _take_one,
    ops.GET_AWAITABLE: _take_one,
    ops.GET_YIELD_FROM_ITER: _take_one,
    ops.BUILD_UNPACK: _build_unpack,
}
