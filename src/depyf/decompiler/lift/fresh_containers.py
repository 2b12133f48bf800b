"""Evaluates containers of generated code that never escape, while lifting.

Dynamo passes stack values through fresh lists: ``[x][0]``, slices, ``f(*[a, *b])``.  A fresh list or tuple whose
elements are simple values (constants, locals, temporaries, other fresh containers) needs no statement until it
escapes; indexing, slicing, storing into and extending it happen here.

    BUILD_LIST [x, y]; COPY 1; LOAD_CONST 0; SUBSCR; ...        ->   x, with no list at all
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from depyf.decompiler.bytecode import ops
from depyf.decompiler.ir.expr import Const, Display, Expr, Invoke, Name, SliceOf, Star, Temp, TempKey
from depyf.decompiler.ir.stmt import Assign, Delete, ExprStmt
from depyf.decompiler.ir.walk_expr import walk_all
from depyf.decompiler.lift.rules import calls, container_rules, unpacking
from depyf.decompiler.lift.stack_values import is_slot
from depyf.safety.depth import any_depth

if TYPE_CHECKING:
    from depyf.decompiler.lift.symbolic import Symbolic

Rule = Callable[["Symbolic", Any], None]


@dataclass(slots=True, eq=False)
class Fresh(Expr):
    """A list or tuple made by this function that nothing outside can see; ``items`` are simple values."""

    kind: str
    items: list[Expr]


def inside(value: Expr) -> Iterator[Fresh]:
    """``value`` and the fresh containers in it."""
    pending = [value]
    while pending:
        found = pending.pop()
        if isinstance(found, Fresh):
            yield found
            pending.extend(reversed(found.items))


@any_depth
def copy_fresh(value: Expr, made: dict[int, Fresh]) -> Expr:
    """A copy for another path of control; through ``made``, parts that were shared stay shared."""
    if not isinstance(value, Fresh):
        return value
    known = made.get(id(value))
    if known is None:
        known = made[id(value)] = Fresh(value.kind, [])
        known.items.extend(copy_fresh(item, made) for item in value.items)
    return known


def names(value: Expr) -> frozenset[str]:
    """The locals that ``value`` is, or that fresh containers in it hold."""
    held = [item for part in inside(value) for item in part.items] if isinstance(value, Fresh) else [value]
    return frozenset(item.id for item in held if isinstance(item, Name) and item.scope == "fast")


@any_depth
def display_of(value: Expr) -> Expr:
    """The display that makes a fresh container."""
    if isinstance(value, Fresh):
        return Display(value.kind, tuple(display_of(item) for item in value.items))
    return value


def escape(s: Symbolic, value: Fresh) -> Expr:
    """``value`` is used by something that is not modelled: from here on it is a real object."""
    wanted = {id(part) for part in inside(value)}
    if not any(id(part) in wanted for other in s.stack for part in inside(other)):
        return display_of(value)
    temp = s.new_temp()
    s.stmts.append(Assign((temp,), display_of(value), s.instr.line))
    s.stack[:] = [_replaced(other, value, temp) for other in s.stack]
    return temp


@any_depth
def _replaced(value: Expr, old: Fresh, new: Expr) -> Expr:
    if value is old:
        return new
    if isinstance(value, Fresh):
        value.items[:] = [_replaced(item, old, new) for item in value.items]
    return value


def protect(s: Symbolic, name: str) -> None:
    """A local is about to change: fresh containers that hold its value need it in a temporary."""
    held = [part for value in s.stack for part in inside(value)]
    if not any(
        isinstance(item, Name) and item.id == name and item.scope == "fast" for part in held for item in part.items
    ):
        return
    temp = s.new_temp()
    s.stmts.append(Assign((temp,), Name(name, "fast"), s.instr.line))
    for part in held:
        part.items[:] = [
            temp if isinstance(item, Name) and item.id == name and item.scope == "fast" else item for item in part.items
        ]


def let_go(s: Symbolic, rule: Rule, arg: Any) -> None:
    """Run ``rule``, and delete the temporaries that only fresh containers held and that nothing holds any more."""
    before = _temporaries(s.stack)
    rule(s, arg)
    left = {node.key for value in s.stack for node in walk_all((ExprStmt(value),)) if isinstance(node, Temp)}
    left |= _temporaries(s.stack).keys()
    dropped = [temp for key, temp in before.items() if key not in left]
    if dropped:
        s.stmts.append(Delete(tuple(dropped), s.instr.line))


def _temporaries(stack: list[Expr]) -> dict[TempKey, Temp]:
    parts = [part for value in stack for part in inside(value)]
    return {item.key: item for part in parts for item in part.items if isinstance(item, Temp) and not is_slot(item)}


def as_fresh(s: Symbolic, position: int) -> Fresh | None:
    """The container at a stack position as a fresh one, its elements and all before it evaluated; or None."""
    value = s.stack[position]
    if isinstance(value, Fresh):
        return value
    if not _can_be_fresh(value):
        return None
    s.spill(position % len(s.stack))
    fresh = _made_fresh(s, value)
    assert isinstance(fresh, Fresh)
    s.stack[position] = fresh
    return fresh


def _can_be_fresh(value: Expr) -> bool:
    return isinstance(value, Display) and value.kind != "set" and not any(isinstance(item, Star) for item in value.elts)


def _items(value: Expr) -> Sequence[Expr] | None:
    """The elements of a container that can be made simple values."""
    if isinstance(value, Fresh):
        return value.items
    return value.elts if isinstance(value, Display) and _can_be_fresh(value) else None


@any_depth
def _made_fresh(s: Symbolic, value: Expr) -> Expr:
    """``value`` as a simple one: displays become fresh containers, what has an effect goes to a temporary."""
    if isinstance(value, Display) and _can_be_fresh(value):
        return Fresh(value.kind, [_made_fresh(s, element) for element in value.elts])
    if s.atomic(value):
        return value
    temp = s.new_temp()
    s.stmts.append(Assign((temp,), value, s.instr.line))
    return temp


def _index(key: Expr) -> int | slice | None:
    if isinstance(key, Const):
        if type(key.value) is int or isinstance(key.value, slice):
            return key.value
    elif isinstance(key, SliceOf):
        parts = (key.lower, key.upper, key.step or Const(None))
        if all(isinstance(part, Const) and (part.value is None or type(part.value) is int) for part in parts):
            return slice(*(part.value for part in parts if isinstance(part, Const)))
    return None


def _subscr(s: Symbolic, arg: Any) -> None:
    index = _index(s.stack[-1]) if len(s.stack) > 1 else None
    container = as_fresh(s, len(s.stack) - 2) if index is not None else None
    if container is None or (type(index) is int and not -len(container.items) <= index < len(container.items)):
        _DEFAULTS[ops.SUBSCR](s, arg)
        return
    s.raw()
    s.raw()
    if isinstance(index, slice):
        s.push(Fresh(container.kind, container.items[index]))
    else:
        assert type(index) is int
        s.push(container.items[index])


def _store_subscr(s: Symbolic, arg: Any) -> None:
    container = s.stack[-2] if len(s.stack) > 2 else None
    index = _index(s.stack[-1])
    if not isinstance(container, Fresh) or container.kind != "list" or index is None:
        _DEFAULTS[ops.STORE_SUBSCR](s, arg)
        return
    key = s.raw()
    s.raw()
    if isinstance(index, slice):
        source = as_fresh(s, len(s.stack) - 1)
        if source is not None:
            s.raw()
            container.items[index] = list(source.items)
            return
    elif -len(container.items) <= index < len(container.items):
        if as_fresh(s, len(s.stack) - 1) is None:
            s.spill()
        container.items[index] = s.raw()
        return
    s.stack.extend((container, key))
    _DEFAULTS[ops.STORE_SUBSCR](s, arg)


def _delete_subscr(s: Symbolic, arg: Any) -> None:
    container = s.stack[-2] if len(s.stack) > 1 else None
    index = _index(s.stack[-1])
    if not isinstance(container, Fresh) or container.kind != "list" or index is None:
        _DEFAULTS[ops.DELETE_SUBSCR](s, arg)
        return
    if type(index) is int and not -len(container.items) <= index < len(container.items):
        _DEFAULTS[ops.DELETE_SUBSCR](s, arg)
        return
    s.raw()
    s.raw()
    del container.items[index]


def _extend(s: Symbolic, depth: int) -> None:
    target = s.stack[-1 - depth] if depth < len(s.stack) else None
    if isinstance(target, (Fresh, Display)) and target.kind == "list":
        source = as_fresh(s, len(s.stack) - 1)
        container = as_fresh(s, len(s.stack) - 1 - depth)
        if source is not None and container is not None:
            s.raw()
            container.items.extend(source.items)
            return
        if container is not None:
            _reveal(s, len(s.stack) - 1 - depth)
    _DEFAULTS[ops.LIST_EXTEND](s, depth)


def _reveal(s: Symbolic, position: int) -> None:
    """Turn a fresh container back into an object; one that holds or takes a temporary is changed, not continued."""
    value = s.stack[position]
    assert isinstance(value, Fresh)
    s.stack[position] = Const(None)
    shown = escape(s, value)
    if isinstance(shown, Display) and any(isinstance(item, Temp) for item in (*shown.elts, s.stack[-1])):
        temp = s.new_temp()
        s.stmts.append(Assign((temp,), shown, s.instr.line))
        shown = temp
    s.stack[position] = shown


def _build(kind: str) -> Rule:
    """A container that shares an element with another slot refers to the same one."""
    op = ops.BUILD_LIST if kind == "list" else ops.BUILD_TUPLE

    def rule(s: Symbolic, count: int) -> None:
        start = len(s.stack) - count
        if start < 0 or not any(isinstance(value, Fresh) for value in s.stack[start:]):
            _DEFAULTS[op](s, count)
            return
        s.spill()
        if not all(s.atomic(value) for value in s.stack[start:]):
            _DEFAULTS[op](s, count)
            return
        s.push(Fresh(kind, [s.raw() for _ in range(count)][::-1]))

    return rule


def _append(s: Symbolic, depth: int) -> None:
    target = s.stack[-1 - depth] if depth < len(s.stack) else None
    if isinstance(target, Fresh):
        if as_fresh(s, len(s.stack) - 1) is None:
            s.spill()
        target.items.append(s.raw())
        return
    _DEFAULTS[ops.LIST_APPEND](s, depth)


def _list_to_tuple(s: Symbolic, arg: Any) -> None:
    container = s.stack[-1]
    if isinstance(container, Fresh):
        s.raw()
        s.push(Fresh("tuple", list(container.items)))
        return
    _DEFAULTS[ops.LIST_TO_TUPLE](s, arg)


def _copy(s: Symbolic, n: int) -> None:
    if n <= len(s.stack):
        container = as_fresh(s, len(s.stack) - n)
        if container is not None:
            s.stack.append(container)
            return
    _DEFAULTS[ops.COPY](s, n)


def _pop(s: Symbolic, arg: Any) -> None:
    if isinstance(s.stack[-1], Display) and as_fresh(s, len(s.stack) - 1) is not None or isinstance(s.stack[-1], Fresh):
        s.raw()
        return
    _DEFAULTS[ops.POP](s, arg)


def _unpack(s: Symbolic, shape: Any) -> None:
    items = _items(s.stack[-1])
    if items is not None and len(items) == shape:
        container = as_fresh(s, len(s.stack) - 1)
        assert container is not None
        s.raw()
        s.stack.extend(reversed(container.items))
        return
    _DEFAULTS[ops.UNPACK_SEQUENCE](s, shape)


def _call_ex(s: Symbolic, shape: tuple[int, bool]) -> None:
    """``f(*[a, b], **{"k": c})`` is ``f(a, b, k=c)`` where the list is fresh."""
    slots, has_mapping = shape
    if has_mapping and calls.is_null(s.stack[-1]):
        s.raw()
        shape = slots, has_mapping = slots, False
    keywords = unpacking.keywords(s.stack[-1] if has_mapping else None)
    at = len(s.stack) - 1 - has_mapping
    container = s.stack[at]
    if (
        all(name is not None for name, _ in keywords)
        and isinstance(container, (Fresh, Display))
        and container.kind in ("list", "tuple")
        and (as_fresh(s, at) is not None or isinstance(container, Display))
    ):
        if has_mapping:
            s.raw()
        packed = s.raw()
        assert isinstance(packed, (Fresh, Display))
        items = packed.items if isinstance(packed, Fresh) else packed.elts
        args = tuple(escape(s, item) if isinstance(item, Fresh) else item for item in items)
        named = tuple((name, escape(s, value) if isinstance(value, Fresh) else value) for name, value in keywords)
        func, first = calls.callee(s, slots)
        s.push(Invoke(func, (*first, *args), named))
        return
    _DEFAULTS[ops.CALL_EX](s, shape)


DROPS = frozenset({ops.POP, ops.SUBSCR, ops.STORE_SUBSCR, ops.DELETE_SUBSCR})
"""The operations that may drop the last reference to an item of a fresh container."""

RULES: dict[str, Rule] = {
    ops.BUILD_LIST: _build("list"),
    ops.BUILD_TUPLE: _build("tuple"),
    ops.SUBSCR: _subscr,
    ops.STORE_SUBSCR: _store_subscr,
    ops.DELETE_SUBSCR: _delete_subscr,
    ops.LIST_EXTEND: _extend,
    ops.LIST_APPEND: _append,
    ops.LIST_TO_TUPLE: _list_to_tuple,
    ops.COPY: _copy,
    ops.POP: _pop,
    ops.UNPACK_SEQUENCE: _unpack,
    ops.CALL_EX: _call_ex,
}
_DEFAULTS: dict[str, Rule] = {**container_rules.RULES, **unpacking.RULES, **calls.RULES}


def rules(defaults: dict[str, Rule]) -> dict[str, Rule]:
    """The rules of ordinary lifting with those for fresh containers on top."""
    _DEFAULTS.update({op: defaults[op] for op in RULES})
    return {**defaults, **RULES}
